"""Problems from JSONL (also gzipped) and Parquet files with a question and an answer."""

from __future__ import annotations

import gzip
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sampo.errors import ConfigError, MissingDataError
from sampo_envs.tools import Question, last_boxed

QUESTIONS = ("question", "problem", "prompt.0.content")
ANSWERS = ("answer", "gt_answer", "reward_model.ground_truth", "ground_truth", "solution")
LEVELS = ("level", "difficulty")
KINDS = ("subject", "type")
_SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns hold what; dots lead into nested ones, `reward_model.ground_truth`.

    None takes the first of the usual names that the first row has.
    """

    question: str | None = None
    answer: str | None = None
    r"""Where the text holds a `\boxed{}`, as MATH's solutions do, the last box is the answer."""
    level: str | None = None
    """A number, or a text that ends with one: `Level 5`."""
    kind: str | None = None
    """Task type for reports."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One row of a file."""

    question: Question
    level: int | None

    def within(self, low: int | None, high: int | None) -> bool:
        """Return whether the level lies between two bounds; None bounds nothing."""
        if low is None and high is None:
            return True
        if self.level is None:
            return False
        return (low is None or low <= self.level) and (high is None or self.level <= high)


@lru_cache(maxsize=8)
def read_problems(path: str, columns: Columns) -> tuple[Problem, ...]:
    """Return the problems of a file, in its order; the last 8 files are kept in each process.

    Rows without a question or an answer are left out, and a warning names them: the paper's
    training set has two.

    Raises:
        MissingDataError: It is not there.
        ConfigError: It is none of the formats, or has no problem in it.
    """
    file = Path(path)
    if not file.is_file():
        raise MissingDataError(
            f"TirMath: there is no file {path}. python -m sampo_envs.tir_math.fetch brings the "
            "paper's data."
        )
    if not file.name.endswith(_SUFFIXES):
        raise ConfigError(f"TirMath: {path} is none of {', '.join(_SUFFIXES)}.")
    rows = list(_parquet(file) if file.suffix == ".parquet" else _jsonl(file))
    if not rows:
        raise ConfigError(f"TirMath: {path} holds no problem.")
    found = Columns(
        question=_column(columns.question, QUESTIONS, rows[0], path, "question"),
        answer=_column(columns.answer, ANSWERS, rows[0], path, "answer"),
        level=columns.level or _first(LEVELS, rows[0]),
        kind=columns.kind or _first(KINDS, rows[0]),
    )
    problems = [_problem(row, found) for row in rows]
    gaps = [number for number, problem in enumerate(problems) if problem is None]
    if gaps:
        warnings.warn(
            f"TirMath: {path}: {len(gaps)} rows without question or answer are left out: rows "
            f"{', '.join(str(number) for number in gaps[:10])}{', ...' if gaps[10:] else ''}.",
            stacklevel=2,
        )
    return tuple(problem for problem in problems if problem is not None)


def _jsonl(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ConfigError(f"TirMath: {file}, line {number} is no JSON: {error}.") from error
            if not isinstance(row, dict):
                raise ConfigError(f"TirMath: {file}, line {number} is not a JSON object.")
            yield row


def _parquet(file: Path) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet  # takes a third of a second, and JSONL needs none of it

    yield from pyarrow.parquet.read_table(file).to_pylist()


def _problem(row: dict[str, Any], columns: Columns) -> Problem | None:
    """Return the problem of a row, or None where it lacks question or answer."""
    text, answer = _text(row, columns.question), _text(row, columns.answer)
    boxed = last_boxed(answer)
    answer = answer if boxed is None else boxed
    if not text or not answer:
        return None
    level = re.search(r"(\d+)\s*$", _text(row, columns.level))
    question = Question(text=text, answer=answer, kind=_text(row, columns.kind))
    return Problem(question=question, level=int(level[1]) if level else None)


def _column(
    wanted: str | None, usual: tuple[str, ...], row: dict[str, Any], path: str, what: str
) -> str:
    found = wanted if wanted is not None and _look(row, wanted) is not None else None
    if wanted is None:
        found = _first(usual, row)
    if found is None:
        tried = repr(wanted) if wanted is not None else ", ".join(usual)
        raise ConfigError(
            f"TirMath: {path} has no {what} in {tried}; its columns are {', '.join(row)}. Set "
            f"columns.{what}."
        )
    return found


def _first(names: tuple[str, ...], row: dict[str, Any]) -> str | None:
    return next((name for name in names if _look(row, name) is not None), None)


def _text(row: dict[str, Any], name: str | None) -> str:
    value = None if name is None else _look(row, name)
    return "" if value is None else str(value).strip()


def _look(row: Any, name: str) -> Any:
    """Return what a dotted name leads to, or None."""
    for part in name.split("."):
        if isinstance(row, dict):
            row = row.get(part)
        elif isinstance(row, list) and part.isdecimal() and int(part) < len(row):
            row = row[int(part)]
        else:
            return None
    return row
