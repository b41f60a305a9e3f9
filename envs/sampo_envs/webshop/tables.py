"""Columns on disk that many processes share: texts and numbers that are read where they lie.

A table is a folder of files that are mapped into memory, so that a process that opens it loads
nothing, and workers of the same machine share one copy.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray


class Texts(Sequence[str]):
    """Strings in one memory-mapped file, decoded when they are asked for.

    Args:
        path: Path without a suffix, as given to `write_texts`.
    """

    def __init__(self, path: Path) -> None:
        self._ends = open_numbers(path)
        with path.with_suffix(".txt").open("rb") as file:
            empty = not len(self._ends) or self._ends[-1] == 0
            # An empty file cannot be mapped.
            self._bytes = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        """Return one text, or those of a slice."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(f"no text {index} of {len(self)}")
        start = int(self._ends[index - 1]) if index else 0
        return self._bytes[start : int(self._ends[index])].decode()

    def find(self, text: str) -> int | None:
        """Return the position of a text, or None. The texts must be sorted."""
        position = bisect_left(self, text)
        return position if position < len(self) and self[position] == text else None


def write_texts(path: Path, texts: Iterable[str]) -> None:
    """Write what `Texts` reads."""
    end, ends = 0, []
    with path.with_suffix(".txt").open("wb") as file:
        for text in texts:
            end += file.write(text.encode())
            ends.append(end)
    write_numbers(path, np.array(ends, dtype=np.int64))


def open_numbers(path: Path) -> NDArray:
    """Return the memory-mapped array that `write_numbers` wrote."""
    # A plain view of the mapped memory: indexing numpy's own class for it is several times slower.
    return np.load(path.with_suffix(".npy"), mmap_mode="r").view(np.ndarray)


def write_numbers(path: Path, numbers: NDArray) -> None:
    """Write an array to `path` with the suffix `.npy`."""
    np.save(path.with_suffix(".npy"), numbers)
