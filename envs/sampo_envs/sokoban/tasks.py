"""Tasks: which levels there are, and which of them belong to train, val and test.

A task is written `split/number`, for instance `train/123`. For generated levels the number is the
seed, for levels from a file it is the position in the file.

Different seeds do not make different levels: small boards repeat so often that four of five levels
of fresh seeds also occur among the training seeds (the figures are in the README). So a split owns
*boards*: a stable hash of the walls and targets says which split a board belongs to, and a level is
generated until its board belongs to the split that was asked for. No state of a validation or test
episode can therefore occur in training.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

from sampo.errors import ConfigError
from sampo_envs.sokoban.board import Board, Level
from sampo_envs.sokoban.boxoban import load_levels
from sampo_envs.sokoban.generate import LevelSettings, generate_level
from sampo_envs.splits import SEEDS, TaskNames, known_split, owner


def split_of(board: Board) -> str:
    """Return the split that owns a board, the same in every process and release."""
    return owner(f"{board.height} {board.width} {board.walls:x} {board.targets:x}")


class LevelSource(ABC):
    """Where levels come from."""

    @abstractmethod
    def tasks(self, split: str) -> TaskNames:
        """Return the tasks of a split."""

    @abstractmethod
    def level(self, task: str) -> Level:
        """Return the level of a task."""

    def first(self) -> str:
        """Return the first task there is, of train if possible."""
        return next(names[0] for split in SEEDS if len(names := self.tasks(split)))

    def check(self, task: str) -> tuple[str, int]:
        """Return the split and the number of a task.

        Raises:
            ConfigError: There is no such task.
        """
        split = task.partition("/")[0]
        names = self.tasks(split)
        if task not in names:
            some = f"from {names[0]!r} to {names[-1]!r}" if names else "none at all"
            raise ConfigError(
                f"Sokoban: there is no task {task!r}. The tasks of {split} are written "
                f"'{split}/number', {some}."
            )
        return split, int(task.partition("/")[2])


@dataclass(frozen=True)
class GeneratedLevels(LevelSource):
    """Levels made from seeds."""

    settings: LevelSettings

    def tasks(self, split: str) -> TaskNames:
        """Return the tasks `split/seed`."""
        return TaskNames(SEEDS[known_split(split, "Sokoban")], split)

    def level(self, task: str) -> Level:
        """Return the level; the last 16,384 are remembered in each process."""
        split, seed = self.check(task)
        return _generated(self.settings, split, seed)


@dataclass(frozen=True)
class FileLevels(LevelSource):
    """Levels from Boxoban files, each in the split that owns its board."""

    path: str

    def tasks(self, split: str) -> TaskNames:
        """Return the tasks `split/position`; positions count from 0 over all files."""
        return TaskNames(_positions(self.path)[known_split(split, "Sokoban")], split)

    def level(self, task: str) -> Level:
        """Return the level; the files are read once in each process."""
        return load_levels(self.path)[self.check(task)[1]]


@lru_cache(maxsize=2**14)
def _generated(settings: LevelSettings, split: str, seed: int) -> Level:
    """Return the level of a seed on a board of a split."""
    return generate_level(settings, seed, accept=lambda board: split_of(board) == split)


@lru_cache(maxsize=8)
def _positions(path: str) -> dict[str, tuple[int, ...]]:
    """Return for each split the positions of its levels in the files at `path`."""
    owners = [split_of(level.board) for level in load_levels(path)]
    return {
        split: tuple(position for position, owner in enumerate(owners) if owner == split)
        for split in SEEDS
    }
