"""Who owns which goals: train, val and test.

Goals of one product differ by their options only, so a split owns *products*: a stable hash of the
asin gives three quarters of them to train, one eighth each to val and test. `manifest.json`
fixes what that makes of the known catalogues.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import overload

SPLITS = ("train", "val", "test")
BUCKETS = (0,) * 6 + (1, 2)
"""The place in `SPLITS` of a product by its hash."""

PAPER_HELD_OUT = 500
"""The paper's code evaluates on the first 500 goals of a list, and trains on all after them."""
PAPER_TRAIN_SEEDS = range(16)
PAPER_VAL_SEEDS = range(1000, 1128)
"""The list is shuffled anew in every worker; these are the seeds of its 16 training groups and 128
validation workers."""


def split_of(asin: str) -> int:
    """Return the place in `SPLITS` of the split that owns a product, in every release the same."""
    return BUCKETS[hashlib.sha256(asin.encode()).digest()[0] % len(BUCKETS)]


@dataclass(frozen=True)
class TaskNames(Sequence[str]):
    """The tasks of a split, written only when asked for.

    Example:
        >>> names = TaskNames(range(2), "goal/{}".format)
        >>> list(names), names[-1], names[:1][0]
        (['goal/0', 'goal/1'], 'goal/1', 'goal/0')
    """

    numbers: Sequence[int]
    write: Callable[[int], str]

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> TaskNames: ...
    def __getitem__(self, index: int | slice) -> str | TaskNames:
        """Return one task, or the tasks of a slice."""
        if isinstance(index, slice):
            return TaskNames(self.numbers[index], self.write)
        return self.write(self.numbers[index])

    def __iter__(self) -> Iterator[str]:
        return (self.write(number) for number in self.numbers)


@dataclass(frozen=True)
class PaperTask:
    """Writes the tasks of `paper_tasks`."""

    split: str
    seeds: Sequence[int]
    first: int
    size: int

    def __call__(self, number: int) -> str:
        """Return the task of a number."""
        seed, place = divmod(number, self.size)
        return f"{self.split}/{self.seeds[seed]}/{self.first + place}"


def paper_tasks(split: str, goals: int) -> TaskNames:
    """Return the tasks of the paper's code, in which train and validation overlap.

    A task `train/7/1234` is goal 1,234 of the list as worker 7 shuffles it; there is no `test`.
    """
    held_out = min(PAPER_HELD_OUT, goals)
    seeds, first, end = {
        "train": (PAPER_TRAIN_SEEDS, held_out, goals),
        "val": (PAPER_VAL_SEEDS, 0, held_out),
        "test": (range(0), 0, 0),
    }[split]
    size = end - first
    return TaskNames(range(len(seeds) * size), PaperTask(split, seeds, first, size))


@lru_cache(maxsize=16)
def paper_order(seed: int, goals: int) -> tuple[int, ...]:
    """Return the goals in the order of one of the paper's workers."""
    order = list(range(goals))
    Random(seed).shuffle(order)
    return tuple(order)
