"""Who owns which goals: train, val and test.

Goals of one product differ by their options only, so a split owns *products*: a stable hash of the
asin gives three quarters of them to train, one eighth each to val and test. `manifest.json`
fixes what that makes of the known catalogues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from sampo_envs.splits import LazyNames, owner

SPLITS = ("train", "val", "test")
PAPER_HELD_OUT = 500
"""The paper's code evaluates on the first 500 goals of a list, and trains on all after them."""
PAPER_TRAIN_SEEDS = range(16)
PAPER_VAL_SEEDS = range(1000, 1128)
"""The list is shuffled anew in every worker; these are the seeds of its 16 training groups and 128
validation workers."""


def split_of(asin: str) -> int:
    """Return the place in `SPLITS` of the split that owns a product, in every release the same."""
    return SPLITS.index(owner(asin))


@dataclass(frozen=True)
class PaperTasks(LazyNames):
    """The tasks of `paper_tasks`."""

    split: str
    seeds: Sequence[int]
    first: int
    size: int

    def write(self, number: int) -> str:
        """Return the task of a number."""
        seed, place = divmod(number, self.size)
        return f"{self.split}/{self.seeds[seed]}/{self.first + place}"


def paper_tasks(split: str, goals: int) -> PaperTasks:
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
    return PaperTasks(range(len(seeds) * size), split, seeds, first, size)


@lru_cache(maxsize=16)
def paper_order(seed: int, goals: int) -> tuple[int, ...]:
    """Return the goals in the order of one of the paper's workers."""
    order = list(range(goals))
    Random(seed).shuffle(order)
    return tuple(order)
