"""Splits and the names of their tasks, for environments whose tasks are numbered.

A task is written `split/number`. Where problems are made from seeds, different seeds may make the
same problem, so a split owns *problems*: a stable hash of what a problem is says whose it is.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self, overload

from sampo.errors import ConfigError, did_you_mean

SEEDS = {
    "train": range(2**16),
    "val": range(2**16, 2**16 + 2**12),
    "test": range(2**17, 2**17 + 2**12),
}
"""The seeds of each split."""

BUCKETS = ("train",) * 6 + ("val", "test")
"""The split of a thing by its hash: three quarters, one eighth and one eighth of all things."""


def owner(text: str) -> str:
    """Return the split that owns what a text describes, the same in every process and release."""
    return BUCKETS[hashlib.sha256(text.encode()).digest()[0] % len(BUCKETS)]


def known_split(split: str, env: str) -> str:
    """Return the split, or raise ConfigError if there is none of that name."""
    if split not in SEEDS:
        raise ConfigError(
            f"{env}: there is no split {split!r}; there are {', '.join(SEEDS)}."
            f"{did_you_mean(split, SEEDS)}"
        )
    return split


@dataclass(frozen=True)
class LazyNames(Sequence[str], ABC):
    """Tasks by number, written only when asked for."""

    numbers: Sequence[int]
    """Seeds or positions, in the order of the tasks."""

    @abstractmethod
    def write(self, number: int) -> str:
        """Return the task of a number."""

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> str | Self:
        """Return one task, or the tasks of a slice."""
        if isinstance(index, slice):
            return replace(self, numbers=self.numbers[index])
        return self.write(self.numbers[index])

    def __iter__(self) -> Iterator[str]:
        return (self.write(number) for number in self.numbers)


@dataclass(frozen=True)
class TaskNames(LazyNames):
    """The tasks `split/number`.

    Example:
        >>> names = TaskNames(range(65536, 65540), "val")
        >>> len(names), names[0], "val/7" in names
        (4, 'val/65536', False)
    """

    split: str

    def write(self, number: int) -> str:
        """Return the task of a number."""
        return f"{self.split}/{number}"

    def __contains__(self, task: object) -> bool:
        """Return whether this is one of the tasks, without writing them all."""
        if not isinstance(task, str):
            return False
        number = task.removeprefix(f"{self.split}/")
        # isdecimal alone would take other scripts' digits and leading zeros.
        return (
            number.isdecimal() and task == self.write(int(number)) and int(number) in self.numbers
        )
