"""Environments in killable worker processes, many episodes at a time.

`EnvPool` gives the collector numbered slots, each with an environment copy of its own, and one
promise: an environment that hangs, crashes or returns nonsense costs the episode of its own slot
and nothing else. It knows no policy and no prompt.
"""

from __future__ import annotations

import itertools
import time
from multiprocessing.connection import wait
from types import TracebackType

from sampo.envs.base import TextEnv
from sampo.envs.process import WorkerProcess, worker_start
from sampo.envs.protocol import EnvFault, EnvReply, EnvRequest
from sampo.envs.slots import EnvSlots
from sampo.errors import ConfigError, EnvFailure
from sampo.rollout.lane import InlineWorker, Lane

__all__ = ["EnvFault", "EnvPool", "EnvReply"]

_WAIT_S = 0.5
"""Longest wait between two looks at whether the processes still live."""
_STOP_S = 5.0
"""Time that idle workers have to close their environments."""


class EnvPool:
    """Runs copies of an environment in numbered slots.

    Requests are queued by `reset` and `step`, sent by `poll`, and answered in any order, one
    answer per request. Workers start when first needed. When a worker hangs or crashes, the
    request that it was working on is answered by an `EnvFault`, a fresh worker is started, and
    the other slots go on where they were: their episodes are replayed from (task, seed, actions),
    which environments repeat exactly.

    Args:
        env: The prototype. It is never reset itself.
        num_workers: Worker processes; 0 runs the environments in this process, where exceptions
            and nonsense are still contained, but nothing can be done about a hang or a crash.
        step_timeout_s: Seconds that one step may take.
        reset_timeout_s: Seconds that one reset, or the start of a worker, may take.
        with_expert: Whether replies carry the expert's action.

    Raises:
        ConfigError: A number is out of its range.
        EnvFailure: The environment cannot be pickled.

    Example:
        >>> from sampo.envs import Corridor
        >>> with EnvPool(Corridor(length=3), num_workers=0) as pool:
        ...     pool.reset(0, task="1>2", seed=0)
        ...     first = pool.poll()
        ...     pool.step(0, "right")
        ...     last = pool.poll()
        >>> first[0][1].observation, last[0][1].success
        ('at 1 door 2', True)
    """

    def __init__(
        self,
        env: TextEnv,
        *,
        num_workers: int = 1,
        step_timeout_s: float = 60.0,
        reset_timeout_s: float = 120.0,
        with_expert: bool = False,
    ) -> None:
        if num_workers < 0 or step_timeout_s <= 0 or reset_timeout_s <= 0:
            raise ConfigError(
                f"num_workers={num_workers} must not be negative, step_timeout_s={step_timeout_s} "
                f"and reset_timeout_s={reset_timeout_s} must be positive."
            )
        self._env = env
        self._with_expert = with_expert
        self._step_timeout_s = step_timeout_s
        self._reset_timeout_s = reset_timeout_s
        self._start = worker_start(env, with_expert=with_expert) if num_workers else None
        self._lanes = [Lane(self._new_worker) for _ in range(max(num_workers, 1))]
        self._places: dict[int, tuple[Lane, int]] = {}
        """Of each slot, its lane and the number of its copy there."""
        self._copy_ids = itertools.count()

    @property
    def pending(self) -> int:
        """Number of requests that have not been answered."""
        return sum(lane.pending for lane in self._lanes)

    def reset(self, slot: int, task: str, seed: int) -> None:
        """Queue the start of an episode. A new slot number makes a new environment copy.

        Raises:
            ValueError: The slot still waits for an answer.
        """
        if slot not in self._places:
            lane = min(self._lanes, key=len)
            copy_id = next(self._copy_ids)
            lane.add(copy_id, slot)
            self._places[slot] = (lane, copy_id)
        lane, copy_id = self._places[slot]
        lane.queue(EnvRequest(kind="reset", copy_id=copy_id, task=task, seed=seed))

    def step(self, slot: int, action: str) -> None:
        """Queue one turn.

        Raises:
            ValueError: The slot has no running episode, or still waits for an answer.
        """
        if slot not in self._places:
            raise ValueError(f"Slot {slot} has no episode; reset it first.")
        lane, copy_id = self._places[slot]
        lane.queue(EnvRequest(kind="step", copy_id=copy_id, action=action))

    def poll(self, timeout_s: float | None = None) -> list[tuple[int, EnvReply | EnvFault]]:
        """Send what is queued and return the answers that are there.

        Args:
            timeout_s: Longest wait for a first answer, in seconds; None waits as long as it takes
                (the deadlines bound it).

        Returns:
            (slot, answer) pairs; empty when nothing is pending, or nothing came in time. After an
            `EnvFault` the slot is empty until its next reset.

        Raises:
            EnvFailure: Workers cannot be started, or are lost again and again. The pool is closed.
        """
        until = float("inf") if timeout_s is None else time.monotonic() + timeout_s
        ready: list[tuple[int, EnvReply | EnvFault]] = []
        while True:
            for lane in self._lanes:
                lane.flush()
                ready += self._collect(lane)
                lane.flush()
            left_s = until - time.monotonic()
            if ready or not self.pending or left_s <= 0:
                break
            self._wait(left_s)
        for slot, answer in ready:
            if isinstance(answer, EnvFault):
                del self._places[slot]
        return ready

    def release(self, slot: int) -> None:
        """Give a slot's environment up; an answer that is still to come is dropped."""
        if slot in self._places:
            lane, copy_id = self._places.pop(slot)
            lane.release(copy_id)

    def close(self) -> None:
        """Stop all workers: idle ones close their environments first, others are killed."""
        workers = [lane.worker for lane in self._lanes if lane.worker is not None]
        for worker in workers:
            worker.ask_to_stop()
        until = time.monotonic() + _STOP_S
        for worker in workers:
            worker.stop(max(until - time.monotonic(), 0.0))
        self._lanes = [Lane(self._new_worker) for _ in self._lanes]
        self._places.clear()

    def __enter__(self) -> EnvPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _new_worker(self) -> WorkerProcess | InlineWorker:
        if self._start is None:
            return InlineWorker(EnvSlots(self._env, with_expert=self._with_expert))
        return WorkerProcess(
            self._start,
            step_timeout_s=self._step_timeout_s,
            reset_timeout_s=self._reset_timeout_s,
        )

    def _collect(self, lane: Lane) -> list[tuple[int, EnvReply | EnvFault]]:
        try:
            return lane.collect()
        except EnvFailure as failure:
            self.close()
            hint = ""
            if self._start is not None and b"__main__" in self._start.prototype:
                hint = " It comes from the script that was started; move it to a module of its own."
            name = type(self._env).__name__
            raise EnvFailure(
                f"{name} cannot be run in a worker process: {failure}.{hint}"
            ) from failure

    def _wait(self, left_s: float) -> None:
        busy = [
            lane.worker
            for lane in self._lanes
            if isinstance(lane.worker, WorkerProcess) and not lane.worker.idle
        ]
        limit_s = min([_WAIT_S, left_s, *(worker.time_left_s for worker in busy)])
        if busy:
            wait([worker.connection for worker in busy], max(limit_s, 0.0))
