"""What a search came to, and what it has cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sampo.arena.results import RunResult, read_run
from sampo.arena.study import Study

COSTS = ("episodes", "tokens", "seconds")


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The search of one method in one environment."""

    environment: str
    method: str
    trials: int
    """Those that were begun."""
    failed: int
    chosen: int | None
    """Number of the trial whose settings were taken; None: none yet."""
    settings: Mapping[str, Any]
    """Those that were taken."""
    success: float | None
    """Of the chosen trial on the validation tasks: the best of several, so an optimistic number."""
    untuned: float | None
    """Of the first trial: the first of everything."""
    costs: Mapping[str, float]
    """Episodes, sampled tokens and seconds of all runs of all trials, failed ones included."""


def read_tuning(study: Study) -> tuple[Tuning, list[RunResult]]:
    """Return what a search came to, and its runs.

    Args:
        study: as it is on disk.
    """
    runs = [run for number in range(len(study.trials)) for run in study.runs(number)]
    found = [read_run(run, study.folder / run.name) for run in runs]
    results = [result for result in found if result is not None]
    done = [trial.success for trial in study.trials if trial.success is not None]
    chosen = None if study.chosen is None else study.trials[study.chosen]
    tuning = Tuning(
        environment=study.environment.name,
        method=study.method.name,
        trials=len(study.trials),
        failed=len(study.trials) - len(done),
        chosen=study.chosen,
        settings=chosen.settings if chosen else {},
        success=chosen.success if chosen else None,
        untuned=study.trials[0].success if study.trials else None,
        costs={name: total(results, name) for name in COSTS},
    )
    return tuning, results


def total(results: Sequence[RunResult], name: str) -> float:
    """Return the sum of a figure over the runs that know it."""
    return sum(value for result in results if (value := getattr(result, name)) is not None)
