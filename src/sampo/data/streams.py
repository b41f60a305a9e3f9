"""The streams that a Trainer iterates over: one item is one rollout, made when it is asked for.

Both define `__len__`: Lightning prefetches one item of an iterable without a length, and a
prefetched rollout would be one by the previous policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset

from sampo.batch import RolloutBatch
from sampo.episode import Episode


def unused_generator() -> torch.Generator:
    """Return a generator for a loader that draws nothing, yet a seed whenever it is iterated over.

    Out of torch's global state, that would be a draw more in a resumed run than in an unbroken one.
    """
    return torch.Generator()


class TrainStream(IterableDataset[RolloutBatch]):
    """The rollout batches of one epoch, from wherever the counter of updates stands.

    Args:
        next_batch: rolls out the next update.
        updates_done: returns how many updates have been made in all.
        updates_per_epoch: length of an epoch.
    """

    def __init__(
        self,
        next_batch: Callable[[], RolloutBatch],
        updates_done: Callable[[], int],
        updates_per_epoch: int,
    ) -> None:
        self._next_batch = next_batch
        self._updates_done = updates_done
        self._updates_per_epoch = updates_per_epoch

    def __len__(self) -> int:
        """Return the number of updates in an epoch."""
        return self._updates_per_epoch

    def __iter__(self) -> Iterator[RolloutBatch]:
        """Yield the batches that this epoch still lacks."""
        for _ in range(self._updates_done() % self._updates_per_epoch, self._updates_per_epoch):
            yield self._next_batch()


class TrainLoader(DataLoader[RolloutBatch]):
    """A loader that Lightning knows to be resumable.

    Its state is empty: where the stream stands is in the DataModule's counters.
    """

    def __init__(self, stream: TrainStream) -> None:
        super().__init__(stream, batch_size=None, num_workers=0, generator=unused_generator())

    def state_dict(self) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore nothing."""


class EvaluationStream(IterableDataset[list[Episode]]):
    """Finished episodes of a fixed list of tasks, in chunks.

    Args:
        play: plays the episodes with numbers in a range and returns them.
        num_episodes: how many there are in all.
        chunk: episodes per item.
    """

    def __init__(
        self, play: Callable[[range], list[Episode]], num_episodes: int, chunk: int
    ) -> None:
        self._play = play
        self._num_episodes = num_episodes
        self._chunk = chunk

    def __len__(self) -> int:
        """Return the number of chunks."""
        return -(-self._num_episodes // self._chunk)

    def __iter__(self) -> Iterator[list[Episode]]:
        """Play and yield chunk after chunk."""
        for start in range(0, self._num_episodes, self._chunk):
            yield self._play(range(start, min(start + self._chunk, self._num_episodes)))
