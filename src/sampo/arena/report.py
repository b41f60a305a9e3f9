"""The comparison as figures: what `arena.json` holds, and the page and the table show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from sampo import __version__
from sampo.arena.dials import dials_of
from sampo.arena.grid import Grid, RunSpec
from sampo.arena.paper import TABLE_3, Published
from sampo.arena.results import RunResult, read_run
from sampo.arena.runner import is_done, last_words
from sampo.arena.statistics import (
    Estimate,
    Scores,
    estimate,
    mean,
    probability_of_improvement,
    rank_probabilities,
)
from sampo.arena.study import studies
from sampo.arena.tuning import Tuning, read_tuning

COLUMNS = ("end", "best", "area", "test", "ref_kl", "valid_format", "score")
"""Figures with an interval over seeds."""
TOTALS = ("updates", "episodes", "tokens", "seconds", "success_per_million_tokens")
"""Figures with a mean over seeds."""
Judge = Literal["test", "end"]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A method in an environment."""

    environment: str
    method: str
    seeds: int
    figures: Mapping[str, Estimate]
    """Of `COLUMNS`, those that every run has."""
    totals: Mapping[str, float]
    """Of `TOTALS`, likewise."""
    collapses: int
    """Runs whose success stayed below half of its best."""
    collapsed_at: tuple[int, ...]
    alarmed: int
    """Runs in which the collapse detector said `collapsing`."""
    paper: Published | None
    """Its cell of the paper's Table 3."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Everything that a comparison came to."""

    grid: Grid
    results: tuple[RunResult, ...]
    judged_by: Judge
    """The success that methods are compared by: on the test tasks, where the grid plays them; else
    at the end on the validation tasks."""
    trials: tuple[RunResult, ...]
    """Runs of searches."""
    tunings: tuple[Tuning, ...]
    """Their outcomes, and their costs, which come on top of those of the runs."""
    missing: Mapping[str, str]
    """Runs without a result, and why."""
    cells: tuple[Cell, ...]
    overall: Mapping[str, Estimate]
    """Interquartile mean of success over all environments and seeds, by method."""
    better: Mapping[str, Mapping[str, Estimate]]
    """How probable it is that a run of the first method beats one of the second."""
    ranks: Mapping[str, Sequence[float]]
    dials: Mapping[str, Mapping[str, str]]

    def as_json(self) -> dict[str, Any]:
        """Return plain values, without the curves' points twice."""
        return {
            "sampo": __version__,
            "grid": asdict(self.grid),
            "judged_by": self.judged_by,
            "runs": [asdict(result) for result in self.results],
            "trials": [asdict(result) for result in self.trials],
            "tunings": [asdict(tuning) for tuning in self.tunings],
            "missing": dict(self.missing),
            "cells": [asdict(cell) for cell in self.cells],
            "overall": {name: asdict(value) for name, value in self.overall.items()},
            "better": {
                name: {other: asdict(value) for other, value in row.items()}
                for name, row in self.better.items()
            },
            "ranks": {name: list(row) for name, row in self.ranks.items()},
            "dials": {name: dict(row) for name, row in self.dials.items()},
        }


def make_report(grid: Grid, folder: Path) -> Report:
    """Read every run of a grid and compare them.

    Args:
        grid: the comparison.
        folder: the arena's.
    """
    results: list[RunResult] = []
    missing: dict[str, str] = {}
    searches = [read_tuning(study) for study in studies(grid, folder)]
    searched = {(tuning.environment, tuning.method): tuning for tuning, _ in searches}
    for run in grid.runs():
        own = folder / run.name
        result = read_run(run, own) if is_done(own) else None
        if result is not None:
            results.append(result)
        else:
            logs = [
                log for name in ("testing", "running") if (log := own / f"{name}.log").is_file()
            ]
            missing[run.name] = last_words(logs[0]) if logs else _not_begun(run, searched)
    tested = grid.test and all(result.test is not None for result in results)
    judge: Judge = "test" if tested else "end"
    scores = {
        method.name: by_environment(results, method.name, judge)
        for method in grid.methods
        if any(result.method == method.name for result in results)
    }
    return Report(
        grid=grid,
        results=tuple(results),
        judged_by=judge,
        trials=tuple(trial for _, trials in searches for trial in trials),
        tunings=tuple(searched.values()),
        missing=missing,
        cells=tuple(_cells(grid, results)),
        overall={name: estimate(values) for name, values in scores.items()},
        better={
            name: {
                other: probability_of_improvement(mine, theirs)
                for other, theirs in scores.items()
                if other != name and set(mine) & set(theirs)
            }
            for name, mine in scores.items()
        },
        ranks=rank_probabilities(scores) if scores else {},
        dials=_dials(grid, folder),
    )


def _not_begun(run: RunSpec, searched: Mapping[tuple[str, str], Tuning]) -> str:
    """Return why a run has not been begun."""
    tuning = searched.get((run.environment.name, run.method.name))
    if tuning is None or tuning.chosen is not None:
        return "not begun"
    return f"its search has not chosen: {tuning.trials} trials begun, {tuning.failed} not done"


def by_environment(results: Sequence[RunResult], method: str, judge: Judge) -> Scores:
    """Return the success of a method's runs, by environment."""
    scores: dict[str, list[float]] = {}
    for result in results:
        if result.method == method:
            scores.setdefault(result.environment, []).append(getattr(result, judge))
    return scores


def _cells(grid: Grid, results: Sequence[RunResult]) -> list[Cell]:
    cells: list[Cell] = []
    for environment in grid.environments:
        for method in grid.methods:
            runs = [
                result
                for result in results
                if (result.environment, result.method) == (environment.name, method.name)
            ]
            if runs:
                cells.append(_cell(runs))
    return cells


def _cell(runs: Sequence[RunResult]) -> Cell:
    first = runs[0]
    figures: dict[str, Estimate] = {}
    for column in COLUMNS:
        values = [getattr(run, column) for run in runs]
        if None not in values:
            figures[column] = estimate({first.environment: values}, mean)
    totals = {
        name: sum(values) / len(values)
        for name in TOTALS
        if None not in (values := [getattr(run, name) for run in runs])
    }
    collapsed = [run.collapsed_at for run in runs if run.collapsed_at is not None]
    return Cell(
        environment=first.environment,
        method=first.method,
        seeds=len(runs),
        figures=figures,
        totals=totals,
        collapses=len(collapsed),
        collapsed_at=tuple(collapsed),
        alarmed=sum(run.alarmed_at is not None for run in runs),
        paper=TABLE_3.get(first.method, {}).get(first.environment),
    )


def _dials(grid: Grid, folder: Path) -> dict[str, dict[str, str]]:
    """Return the dials of each method, from any of its runs."""
    found: dict[str, dict[str, str]] = {}
    for run in grid.runs():
        if run.method.name not in found and (dials := dials_of(folder / run.name)) is not None:
            found[run.method.name] = dials
    return found
