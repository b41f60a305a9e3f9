"""The processes of a run: who does what, and how they stay in step.

Every process holds the same rollout and takes the same decisions from it: what is kept, how it is
split, whether a step is taken. They differ in two things only: which episodes they play and which
micro-batches they compute. The results of both are exchanged in full, so what comes afterwards is
the same everywhere, and nobody has to wait for a peer that took another turn.

Nothing here is ours but the bookkeeping: the exchange is `torch.distributed`'s.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch.distributed as dist
from torch import Tensor

from sampo.errors import RankError

Item = TypeVar("Item")
Result = TypeVar("Result")

_PATIENCE = timedelta(hours=1)
"""Longest wait for the others' part of a rollout or evaluation. A process that has died is noticed
at once, by its closed connections; this is for one that hangs."""
_SHARED = "Raised on all ranks by what happened on rank"


@dataclass(frozen=True)
class World:
    """The processes of a run, seen from one of them. `World()` is a process by itself.

    Methods that say so are collective: every rank has to call them, in the same order.
    """

    rank: int = 0
    size: int = 1
    _group: Any = None
    """A group of its own on the CPU, so that threads with a `World` each can talk at once."""

    @classmethod
    def join(cls) -> World:
        """Return the world of `torch.distributed`, as far as it has been set up. Collective."""
        if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
            return cls()
        group = dist.new_group(backend="gloo", timeout=_PATIENCE)
        return cls(dist.get_rank(), dist.get_world_size(), group)

    def share(
        self, items: Sequence[Item], work: Callable[[Sequence[Item]], Sequence[Result]]
    ) -> list[Result]:
        """Work on this rank's part of the items; return the results of all. Collective.

        Args:
            items: the same on all ranks; rank `r` of `n` takes every `n`-th of them, from `r` on.
                A rank's part may be empty.
            work: returns one result per item. What it raises is raised on all ranks.

        Returns:
            One result per item, in the order of the items, the same on all ranks.
        """
        parts = self.gather(lambda: work(items[self.rank :: self.size]))
        return [parts[i % self.size][i // self.size] for i in range(len(items))]

    def gather(self, work: Callable[[], Result]) -> list[Result]:
        """Do something of one's own; return what it gave on each rank. Collective.

        Raises:
            Exception: what `work` raised on the first rank on which it failed.
            RankError: a rank is gone.
        """
        if self.size == 1:
            return [work()]
        outcome: Any
        try:
            outcome = work()
        except Exception as error:  # noqa: BLE001  raised again below, on every rank
            outcome = _Failure(error)
        outcomes: list[Any] = [None] * self.size
        try:
            dist.all_gather_object(outcomes, outcome, group=self._group)
        except RuntimeError as error:
            raise lost_peer(error) or error from error
        for rank, other in enumerate(outcomes):
            if isinstance(other, _Failure):
                error = outcome.error if rank == self.rank else other.error
                error.add_note(f"{_SHARED} {rank}.")
                raise error
        return outcomes

    def sum_(self, values: Tensor) -> Tensor:
        """Add a tensor up over all ranks, in place, and return it. Collective."""
        if self.size > 1:
            dist.all_reduce(values)
        return values


class _Failure:
    """What was raised instead of a result, on its way to the other ranks."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the error, or where it cannot be sent, its words."""
        try:
            pickle.loads(pickle.dumps(self.error))  # noqa: S301  our own
        except Exception:  # noqa: BLE001  whatever its class cannot do
            return _Failure, (RuntimeError(repr(self.error)),)
        return _Failure, (self.error,)


def is_shared(error: BaseException) -> bool:
    """Return whether an error is raised on all ranks, so that one of them may tell it."""
    return any(note.startswith(_SHARED) for note in getattr(error, "__notes__", ()))


def lost_peer(error: BaseException) -> RankError | None:
    """Return what an error of `torch.distributed` means for a user; None: it is another one."""
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return None
    reason = " ".join(str(error).split()).split(". ")[0][:200]
    from_gloo = isinstance(error, RuntimeError) and "gloo/" in reason
    if isinstance(error, RankError) or not (from_gloo or isinstance(error, dist.DistError)):
        return None
    return RankError(
        f"Rank {dist.get_rank()} has lost another process of the run, which was killed, failed "
        f"(then its own error is above) or hangs: {reason}. What was reached is in the last "
        "checkpoint; go on from it with --ckpt_path last."
    )
