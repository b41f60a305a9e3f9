"""Where problems come from: generated, or read from files. One name for each, `split/number`."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count
from random import Random

from sampo.errors import ConfigError, did_you_mean
from sampo_envs.splits import SEEDS, TaskNames, known_split, owner
from sampo_envs.tir_math.files import Columns, read_problems
from sampo_envs.tir_math.generate import KINDS, LEVELS, generate
from sampo_envs.tools import Question

_ENV = "TirMath"
_STRIDE = 2**20
"""Further tries of one seed lie this far apart: beyond all seeds."""


class Problems(ABC):
    """A source of problems."""

    @abstractmethod
    def tasks(self, split: str) -> TaskNames:
        """Return the tasks `split/number` of a split."""

    @abstractmethod
    def problem(self, split: str, number: int) -> Question:
        """Return one problem of a split."""

    def find(self, task: str) -> Question:
        """Return the problem of a task.

        Raises:
            ConfigError: There is no such task.
        """
        split, _, number = task.partition("/")
        names = self.tasks(split)
        if task not in names:
            some = f"from {names[0]!r} to {names[-1]!r}" if names else "none at all"
            raise ConfigError(
                f"{_ENV}: there is no task {task!r}. The tasks of {split} are written "
                f"'{split}/number', {some}."
            )
        return self.problem(split, int(number))


@dataclass(frozen=True, kw_only=True)
class GeneratedProblems(Problems):
    """Arithmetic and algebra from seeds; see `sampo_envs.tir_math.generate`.

    A split owns texts, not seeds only: no text of one split occurs in another.

    Raises:
        ConfigError: There is no such level or kind, or none at all.
    """

    levels: tuple[int, ...] = (2,)
    """Levels to draw from, in turn: 1, 2 or 3."""
    kinds: tuple[str, ...] | None = None
    """Task types to draw from; None draws from all."""
    guess_share: float = 0.0
    """Share of the problems in which the expert does not use the tool but answers with a random
    number of the right length. From such demonstrations comes a policy that calls the tool in the
    other problems only, and has something to learn."""

    def __post_init__(self) -> None:
        """Refuse unknown levels and kinds, and what is no share."""
        if not self.levels or set(self.levels) - set(LEVELS):
            known = ", ".join(str(level) for level in LEVELS)
            raise ConfigError(f"{_ENV}: levels={self.levels} must be some of {known}.")
        object.__setattr__(self, "levels", tuple(self.levels))  # YAML gives lists
        if self.kinds is not None:
            object.__setattr__(self, "kinds", tuple(self.kinds))
            unknown = [kind for kind in self.kinds if kind not in KINDS]
            if unknown or not self.kinds:
                raise ConfigError(
                    f"{_ENV}: kinds={self.kinds} must be some of {', '.join(KINDS)}."
                    f"{did_you_mean(unknown[0], KINDS) if unknown else ''}"
                )
        if not 0 <= self.guess_share <= 1:
            raise ConfigError(f"{_ENV}: guess_share={self.guess_share} must be in [0, 1].")

    def tasks(self, split: str) -> TaskNames:
        """Return the tasks `split/seed`."""
        return TaskNames(SEEDS[known_split(split, _ENV)], split)

    def problem(self, split: str, number: int) -> Question:
        """Return the first problem of a seed whose text belongs to the split."""
        level = self.levels[number % len(self.levels)]
        drawn = (generate(number + _STRIDE * attempt, level, self.kinds) for attempt in count())
        problem = next(problem for problem in drawn if owner(problem.text) == split)
        rng = Random(f"guess/{number}")
        if rng.random() < self.guess_share:
            return replace(problem, guess=_of_equal_length(problem.answer, rng))
        return problem


def _of_equal_length(number: str, rng: Random) -> str:
    """Return a random number with the sign and as many digits."""
    digits = number.removeprefix("-")
    low = 10 ** (len(digits) - 1)
    return number[: -len(digits)] + str(rng.randrange(low, 10 * low))


@dataclass(frozen=True, kw_only=True)
class FileProblems(Problems):
    """Problems from JSONL or Parquet files, one per split; see `sampo_envs.tir_math.files`.

    `python -m sampo_envs.tir_math.fetch` brings the paper's. What stands in `val` or `test` is
    left out of `train`, by its text; a warning says how many.

    Raises:
        ConfigError: A file breaks its format, or none is given.
        MissingDataError: A file is not there.
    """

    train: str | None = None
    val: str | None = None
    test: str | None = None
    columns: Columns = field(default_factory=Columns)
    """Which columns hold what."""
    min_level: int | None = None
    """Least level of training problems; None takes all. Validation and test files are not cut."""
    max_level: int | None = None

    def __post_init__(self) -> None:
        """Refuse to have no file at all."""
        if not (self.train or self.val or self.test):
            raise ConfigError(f"{_ENV}: FileProblems has no file. Set train, val or test.")

    def tasks(self, split: str) -> TaskNames:
        """Return the tasks `split/row`; rows count from 0."""
        return TaskNames(_rows(self)[known_split(split, _ENV)], split)

    def problem(self, split: str, number: int) -> Question:
        """Return the problem of a row."""
        path = getattr(self, split)
        assert path is not None
        return read_problems(path, self.columns)[number].question


@lru_cache(maxsize=16)
def _rows(source: FileProblems) -> dict[str, tuple[int, ...]]:
    """Return the rows of each split that are played."""
    files = {
        split: () if path is None else read_problems(path, source.columns)
        for split, path in (("train", source.train), ("val", source.val), ("test", source.test))
    }
    held_out = {problem.question.text for split in ("val", "test") for problem in files[split]}
    chosen = [
        (row, problem)
        for row, problem in enumerate(files["train"])
        if problem.within(source.min_level, source.max_level)
    ]
    train = tuple(row for row, problem in chosen if problem.question.text not in held_out)
    if len(train) < len(chosen):
        warnings.warn(
            f"{_ENV}: {len(chosen) - len(train)} of {len(chosen)} problems of {source.train} also "
            "stand in the val or test file; they are left out of training.",
            stacklevel=2,
        )
    rows = {split: tuple(range(len(files[split]))) for split in ("val", "test")}
    return {"train": train, **rows}
