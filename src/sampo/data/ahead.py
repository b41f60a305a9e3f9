"""One rollout ahead: the next one is played while the present one is trained on."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from sampo.data.group_rollout import Rollout
from sampo.rollout.cancellation import Cancellation, RolloutCancelledError


class RolloutAhead:
    """Plays a rollout in a thread; at most one at a time.

    Args:
        play: plays the next rollout; what it raises is raised again by `take`.
        cancellation: makes `play` stop early, by raising `RolloutCancelledError`.
    """

    def __init__(self, play: Callable[[], Rollout], cancellation: Cancellation) -> None:
        self._play = play
        self._cancellation = cancellation
        self._pool: ThreadPoolExecutor | None = None
        self._future: Future[Rollout] | None = None
        self.waited_s = 0.0
        """Seconds that `wait` and `take` have blocked, in all."""

    def start(self) -> None:
        """Begin with the next rollout."""
        assert self._future is None, "one at a time"
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="rollout")
        self._future = self._pool.submit(self._play)

    def wait(self) -> None:
        """Block until nothing is being played. What went wrong is raised by `take`."""
        if self._future is not None:
            started = time.perf_counter()
            self._future.exception()
            self.waited_s += time.perf_counter() - started

    def take(self) -> Rollout | None:
        """Return the rollout that was begun, when it is complete; None: none was."""
        self.wait()
        future, self._future = self._future, None
        return None if future is None else future.result()

    def discard(self) -> None:
        """Break off what is being played and forget it."""
        future, self._future = self._future, None
        if future is None:
            return
        self._cancellation.demand()
        try:
            error = future.exception()
        finally:
            self._cancellation.withdraw()
        if error is not None and not isinstance(error, RolloutCancelledError):
            raise error

    def close(self) -> None:
        """Break off and end the thread."""
        try:
            self.discard()
        finally:
            if self._pool is not None:
                self._pool.shutdown()
                self._pool = None
