"""Requests that are answered elsewhere, each by a coroutine, on an event loop in its own thread.

What engines have in common that talk to another process: the collector's side is blocking
(`submit`, `collect`), the other side is asynchronous, and all requests are in flight at once. It
does not know what answers, nor anything of weights.
"""

from __future__ import annotations

import asyncio
import queue
from collections import deque
from collections.abc import Callable, Coroutine, Hashable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from sampo.episode import Completion
from sampo.errors import EngineError
from sampo.rollout.background_loop import BackgroundLoop
from sampo.rollout.engine import GenerationRequest

Finished = tuple[Hashable, Completion]
Result = TypeVar("Result")


@dataclass(frozen=True)
class _Asked:
    """A request on its way."""

    request: GenerationRequest
    answer: Future[Completion]


class RequestPool:
    """Runs one coroutine per request and hands out what has finished.

    Args:
        reply: answers a request; raises what went wrong.
        timeout_s: `collect` waits this long for the next reply before it calls the engine hung.
        name: who answers, for messages and for the thread.
    """

    def __init__(
        self,
        reply: Callable[[GenerationRequest], Coroutine[Any, Any, Completion]],
        *,
        timeout_s: float,
        name: str,
    ) -> None:
        self._reply = reply
        self._timeout_s = timeout_s
        self._name = name
        self._asked: dict[int, _Asked] = {}
        """By a number of their own: a key may come again after its request was cancelled."""
        self._count = 0
        self._finished: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._heard: deque[int] = deque()
        """Finished ones that `ready` has come across."""
        self._answering: set[asyncio.Task[Completion]] = set()
        self._open = asyncio.Event()
        self._open.set()
        self._loop = BackgroundLoop(name)

    @property
    def keys(self) -> set[Hashable]:
        """Keys of the requests in flight."""
        return {asked.request.key for asked in self._asked.values()}

    def submit(self, requests: Sequence[GenerationRequest]) -> None:
        """Start answering; returns at once. The keys must be new, see `check_requests`."""
        for request in requests:
            self._count += 1
            number = self._count
            answer = self._loop.start(self._answer(request))
            self._asked[number] = _Asked(request, answer)
            answer.add_done_callback(lambda _, number=number: self._finished.put(number))

    def collect(self) -> list[Finished]:
        """Block until a request is answered; return those that are, or nothing if none is open.

        Raises:
            EngineError: nothing was answered for `timeout_s`.
            Exception: what answering raised.
        """
        done: list[Finished] = []
        while self._asked and (not done or self._heard or not self._finished.empty()):
            if not self._heard and not self._listen(self._timeout_s):
                raise self._hung()
            number = self._heard.popleft()
            asked = self._asked.pop(number, None)
            if asked is not None:  # else it was cancelled
                done.append((asked.request.key, asked.answer.result()))
        return done

    def ready(self, timeout_s: float) -> bool:
        """Return whether `collect` would return at once, waiting for it so long at most."""
        return not self._asked or bool(self._heard) or self._listen(timeout_s)

    def _listen(self, timeout_s: float) -> bool:
        """Wait for the next finished request; return whether there was one."""
        try:
            self._heard.append(self._finished.get(timeout=timeout_s))
        except queue.Empty:
            return False
        return True

    def cancel(self, session: Hashable) -> None:
        """Forget a session's requests; their replies never come."""
        for number, asked in list(self._asked.items()):
            if asked.request.session == session and session is not None:
                del self._asked[number]
                asked.answer.cancel()

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine on the pool's loop and return its result."""
        return self._loop.start(work).result()

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Hold new requests back and wait until none is being answered; then let them go on.

        Raises:
            EngineError: nothing was answered for `timeout_s`.
        """
        try:
            self.call(self._fall_quiet())
            yield
        finally:
            self.call(self._go_on())

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """Cancel everything, do one last thing on the loop, and end it."""
        self._asked.clear()
        self._loop.close(last)

    async def _answer(self, request: GenerationRequest) -> Completion:
        await self._open.wait()
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        try:
            return await self._reply(request)
        finally:
            self._answering.discard(task)

    async def _fall_quiet(self) -> None:
        self._open.clear()
        while waiting := set(self._answering):
            done, _ = await asyncio.wait(
                waiting, timeout=self._timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                raise self._hung()

    async def _go_on(self) -> None:
        self._open.set()

    def _hung(self) -> EngineError:
        return EngineError(
            f"{self._name} has answered nothing for {self._timeout_s:g} s, with "
            f"{len(self._asked)} requests in flight. If it is only slow, raise the engine's "
            "reply_timeout_s; otherwise look for its last words above."
        )
