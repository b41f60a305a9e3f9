"""One worker and the episodes that it runs, which outlive it.

A lane remembers of every episode the task, the seed and the actions. When its worker is lost, it
blames the request that was being worked on, starts a fresh worker, and brings the other episodes
back by replay. Used by `sampo.rollout.workers.EnvPool` only.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from sampo.envs.process import Answer, WorkerProcess
from sampo.envs.protocol import EnvFault, EnvReply, EnvRequest
from sampo.envs.slots import EnvSlots
from sampo.errors import EnvFailure

_MAX_LOSSES_PER_MINUTE = 60
"""Of one worker; above it the environment is taken to be broken, not unlucky."""


@dataclass
class _Episode:
    """What is known of one running episode: enough to bring it back in another process."""

    slot: int
    task: str = ""
    seed: int = 0
    actions: list[str] = field(default_factory=list)
    """Answered ones; `pending` comes on top."""
    reply: EnvReply | None = None
    """The last one."""
    pending: EnvRequest | None = None
    present: bool = False
    """Whether the worker holds the state after `actions`."""
    replaying: int = 0
    """Answers still to come that only bring the state back."""


class InlineWorker:
    """The interface of `WorkerProcess`, in this process and without deadlines."""

    def __init__(self, slots: EnvSlots) -> None:
        self._slots = slots
        self._requests: list[EnvRequest] = []

    @property
    def idle(self) -> bool:
        """Whether everything sent has been answered."""
        return not self._requests

    @property
    def inflight(self) -> tuple[EnvRequest, ...]:
        """Requests sent and not answered."""
        return tuple(self._requests)

    def send(self, requests: list[EnvRequest]) -> None:
        """Take a batch."""
        self._requests = list(requests)

    def collect(self) -> tuple[list[Answer], str | None]:
        """Do the batch and return its answers; such a worker is never lost."""
        requests, self._requests = self._requests, []
        return [(request, self._slots.run(request)) for request in requests], None

    def ask_to_stop(self) -> None:
        """Close the environments."""
        self._slots.close()

    def stop(self, timeout_s: float) -> None:
        """Nothing is left to stop."""


class Lane:
    """One worker's place: the process, if any, its episodes, and what waits to be sent.

    Args:
        new_worker: Starts a worker.
    """

    def __init__(self, new_worker: Callable[[], WorkerProcess | InlineWorker]) -> None:
        self.worker: WorkerProcess | InlineWorker | None = None
        self._new_worker = new_worker
        self._episodes: dict[int, _Episode] = {}
        self._queue: list[int] = []
        """Copies whose pending request has not been sent."""
        self._released: list[int] = []
        self._losses: deque[float] = deque()
        """When workers were lost, in the last minute."""

    def __len__(self) -> int:
        """Number of slots served."""
        return len(self._episodes)

    @property
    def pending(self) -> int:
        """Number of requests without an answer."""
        return sum(episode.pending is not None for episode in self._episodes.values())

    def add(self, copy_id: int, slot: int) -> None:
        """Serve one slot more."""
        self._episodes[copy_id] = _Episode(slot=slot)

    def queue(self, request: EnvRequest) -> None:
        """Take one request, to be sent by the next `flush`.

        Raises:
            ValueError: The slot has no running episode, or still waits for an answer.
        """
        episode = self._episodes[request.copy_id]
        if episode.pending is not None:
            raise ValueError(f"Slot {episode.slot} still waits for its {episode.pending.kind}.")
        if request.kind == "step" and (episode.reply is None or episode.reply.over):
            raise ValueError(f"The episode of slot {episode.slot} is over; reset it first.")
        episode.pending = request
        self._queue.append(request.copy_id)

    def release(self, copy_id: int) -> None:
        """Give a copy up, and whatever was asked of it."""
        del self._episodes[copy_id]
        self._released.append(copy_id)

    def flush(self) -> None:
        """Send everything that waits for an idle worker, as one batch."""
        if self.worker is None:
            self._released.clear()
            if not self._queue:
                return
            self.worker = self._new_worker()
        if not self.worker.idle:
            return
        batch = [EnvRequest(kind="release", copy_id=copy_id) for copy_id in self._released]
        for copy_id in self._queue:
            episode = self._episodes.get(copy_id)
            if episode is not None and episode.pending is not None:
                batch += _replay(episode, copy_id)
                batch.append(episode.pending)
        self._released.clear()
        self._queue.clear()
        if batch:
            self.worker.send(batch)

    def collect(self) -> list[tuple[int, EnvReply | EnvFault]]:
        """Return (slot, answer) of what is done. Does not wait. A slot with a fault is gone.

        Raises:
            EnvFailure: The worker cannot be started, or is lost again and again.
        """
        ready: list[tuple[int, EnvReply | EnvFault]] = []
        if self.worker is None:
            return ready
        answers, loss = self.worker.collect()
        for request, answer in answers:
            if request.kind == "start" and isinstance(answer, EnvFault):
                raise EnvFailure(answer.message)
            if answer is not None and request.copy_id in self._episodes:
                ready += self._accept(request.copy_id, answer)
        if loss is not None:
            ready += self._recover(self.worker, loss)
        return ready

    def _accept(
        self, copy_id: int, answer: EnvReply | EnvFault
    ) -> list[tuple[int, EnvReply | EnvFault]]:
        episode = self._episodes[copy_id]
        assert episode.pending is not None
        if isinstance(answer, EnvFault):
            return self._fail(copy_id, answer.message)
        if episode.replaying:
            episode.replaying -= 1
            assert episode.reply is not None
            if not episode.replaying and answer.observation != episode.reply.observation:
                return self._fail(
                    copy_id,
                    "replaying the episode in a fresh worker showed another observation; the "
                    "environment is not deterministic",
                )
            return []
        if episode.pending.kind == "reset":
            episode.task, episode.seed = episode.pending.task, episode.pending.seed
            episode.actions = []
        else:
            episode.actions.append(episode.pending.action)
        episode.reply, episode.pending, episode.present = answer, None, True
        return [(episode.slot, answer)]

    def _recover(
        self, worker: WorkerProcess | InlineWorker, loss: str
    ) -> list[tuple[int, EnvReply | EnvFault]]:
        """Blame the request in work; leave the lane ready for a fresh worker."""
        guilty, *waiting = worker.inflight
        self.worker = None
        if guilty.kind == "start":
            raise EnvFailure(loss)
        self._count_loss(loss)
        blamed = guilty.kind != "release" and guilty.copy_id in self._episodes
        faults = self._fail(guilty.copy_id, loss) if blamed else []
        for episode in self._episodes.values():
            episode.present, episode.replaying = False, 0
        again = dict.fromkeys(request.copy_id for request in waiting)
        self._queue[:0] = [copy_id for copy_id in again if copy_id in self._episodes]
        return faults

    def _fail(self, copy_id: int, message: str) -> list[tuple[int, EnvReply | EnvFault]]:
        slot = self._episodes[copy_id].slot
        self.release(copy_id)
        return [(slot, EnvFault(message=message))]

    def _count_loss(self, loss: str) -> None:
        now = time.monotonic()
        self._losses.append(now)
        while self._losses[0] < now - 60.0:
            self._losses.popleft()
        if len(self._losses) > _MAX_LOSSES_PER_MINUTE:
            raise EnvFailure(f"it was lost {len(self._losses)} times in a minute, at last: {loss}")


def _replay(episode: _Episode, copy_id: int) -> list[EnvRequest]:
    """Return the requests that bring an episode back, where its worker does not hold it."""
    if episode.present or episode.pending is None or episode.pending.kind == "reset":
        return []
    episode.replaying = 1 + len(episode.actions)
    return [
        EnvRequest(kind="reset", copy_id=copy_id, task=episode.task, seed=episode.seed),
        *(EnvRequest(kind="step", copy_id=copy_id, action=action) for action in episode.actions),
    ]
