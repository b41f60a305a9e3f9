"""What one run of a grid came to, read from its files."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from sampo.arena.commands import versions
from sampo.arena.grid import RunSpec
from sampo.view.alarms import read_alarms
from sampo.view.curves import Curve, read_curves

SUCCESS = "eval/success_rate"


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """The figures of one run; NaN-free: what is not known is None."""

    environment: str
    method: str
    seed: int
    trial: int | None
    """Of the search that it belongs to; None: it is one of the comparison."""
    start: float | None
    """Success on validation tasks before the first update."""
    end: float
    """The same after the last evaluation."""
    best: float
    area: float
    """Mean height of the success curve over the updates."""
    test: float | None
    """Success of the last checkpoint on the test tasks."""
    score: float | None
    """Mean score of the last evaluation: the return less penalties, or the task's own."""
    collapsed_at: int | None
    """Update from which success stayed below half of its best."""
    alarmed_at: int | None
    """Update of the first alarm that said `collapsing` or worse."""
    ref_kl: float | None
    """To the first policy, at the end."""
    valid_format: float | None
    """Share of replies of the right form, at the end."""
    updates: int
    episodes: float | None
    tokens: float | None
    """Sampled ones."""
    seconds: float | None
    success_per_million_tokens: float | None
    """Successful training episodes per million sampled tokens."""
    curve: Curve
    """Success on validation tasks over updates."""


def read_run(run: RunSpec, folder: Path) -> RunResult | None:
    """Return the result of a run; None where it was never evaluated.

    Args:
        run: which.
        folder: its own.
    """
    curves = merged(versions(folder))
    curve = curves.get(SUCCESS)
    if curve is None:
        return None
    last = {name: values.values[-1] for name, values in curves.items()}
    tokens, successes = last.get("cost/sampled_tokens"), last.get("cost/successes")
    times = (last.get(f"cost/{name}_s", 0.0) for name in ("rollout", "update", "evaluation"))
    return RunResult(
        environment=run.environment.name,
        method=run.method.name,
        seed=run.seed,
        trial=run.trial,
        start=curve.values[0] if curve.steps[0] == 0 else None,
        end=curve.values[-1],
        best=max(curve.values),
        area=area(curve),
        test=_test(folder / "test.json"),
        score=last.get("eval/task_score", last.get("eval/score")),
        collapsed_at=collapsed_at(curve),
        alarmed_at=_alarmed_at(versions(folder)),
        ref_kl=last.get("train/ref_kl"),
        valid_format=last.get("rollout/valid_format_rate"),
        updates=int(max(steps.steps[-1] for steps in curves.values())),
        episodes=last.get("cost/episodes"),
        tokens=tokens,
        seconds=sum(times) if tokens else None,
        success_per_million_tokens=1e6 * successes / tokens if tokens and successes else None,
        curve=curve,
    )


def merged(launches: Sequence[Path]) -> Mapping[str, Curve]:
    """Return the curves of a run over all of its launches; a later one counts where both know."""
    points: dict[str, dict[int, float]] = {}
    for launch in launches:
        for name, curve in read_curves(launch).by_tag.items():
            points.setdefault(name, {}).update(zip(curve.steps, curve.values, strict=True))
    return {
        name: Curve(steps=tuple(sorted(known)), values=tuple(known[step] for step in sorted(known)))
        for name, known in points.items()
    }


def area(curve: Curve) -> float:
    """Return the mean of a curve over its steps, straight lines between its points."""
    width = curve.steps[-1] - curve.steps[0]
    if width == 0:
        return curve.values[-1]
    points = list(zip(curve.steps, curve.values, strict=True))
    return sum((t2 - t1) * (v1 + v2) / 2 for (t1, v1), (t2, v2) in pairwise(points)) / width


def collapsed_at(curve: Curve) -> int | None:
    """Return the update from which a curve stayed below half of its best; None: it did not."""
    best = max(curve.values)
    above = [
        step for step, value in zip(curve.steps, curve.values, strict=True) if value >= best / 2
    ]
    later = curve.steps[bisect_right(curve.steps, above[-1]) :]
    return later[0] if later and best > 0.0 else None


def _alarmed_at(launches: Sequence[Path]) -> int | None:
    files = [file for launch in launches if (file := launch / "alarms.jsonl").is_file()]
    alarms = [alarm for file in files for alarm in read_alarms(file)[0]]
    grave = [alarm["step"] for alarm in alarms if alarm["stage"] in ("collapsing", "collapsed")]
    return min(grave, default=None)


def _test(report: Path) -> float | None:
    if not report.is_file():
        return None
    return float(json.loads(report.read_text())["totals"]["success_rate"])
