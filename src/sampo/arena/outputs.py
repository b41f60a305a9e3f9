"""Writes a report: `arena.json`, `arena.csv` and `arena.html`."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from sampo.arena.dials import DIALS
from sampo.arena.files import write_text
from sampo.arena.paper import TABLE_3
from sampo.arena.report import Report
from sampo.arena.results import RunResult
from sampo.arena.statistics import performance_profile
from sampo.arena.svg import Band, Line, plot

_CSV = [field.name for field in fields(RunResult) if field.name != "curve"]


def write_report(report: Report, folder: Path) -> Path:
    """Write all three files and return the page; each appears when it is complete."""
    write_text(folder / "arena.json", json.dumps(report.as_json(), indent=1) + "\n")
    partial = folder / ".arena.csv.partial"
    with partial.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(_CSV)
        runs = [*report.results, *report.trials]
        rows.writerows([getattr(result, name) for name in _CSV] for result in runs)
    partial.replace(folder / "arena.csv")
    page = folder / "arena.html"
    write_text(page, _page(report))
    return page


def _page(report: Report) -> str:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "page"),
        undefined=StrictUndefined,
        autoescape=select_autoescape(default=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["settings"] = settings
    style = (Path(__file__).parent / "page" / "arena.css").read_text(encoding="utf-8")
    order = sorted(report.overall, key=lambda name: -report.overall[name].value)
    methods = [method.name for method in report.grid.methods if method.name in order]
    return environment.get_template("arena.html.j2").render(
        report=report,
        style=style,
        order=order,
        dials=DIALS,
        curves=_curves(report),
        profiles=_profiles(report, order),
        cells={(cell.environment, cell.method): cell for cell in report.cells},
        table_3=sorted(methods, key=[*TABLE_3, *methods].index),
        published=TABLE_3,
        set_here={method.name: method.settings or {} for method in report.grid.methods},
        searches={(search.environment, search.method): search for search in report.tunings},
    )


def number(value: float | None, form: str) -> str:
    """Return a number in words of the page: `rate` of 0 to 1, or `short`."""
    if value is None or form == "short":
        return short(value)
    return f"{value:.3f}"


def settings(values: Mapping[str, Any]) -> str:
    """Return settings without their paths.

    Example:
        >>> settings({"model.loss.kl_coef": 0.01, "model.learning_rate": 0.0006})
        'kl_coef 0.01, learning_rate 0.0006'
    """
    return ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in values.items()) or "–"


def short(value: float | None) -> str:
    """Return a number of about three digits, large ones with k or M.

    Example:
        >>> short(0.51234), short(12345.0), short(None)
        ('0.512', '12.3k', '–')
    """
    if value is None:
        return "–"
    for limit, unit in ((1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            scale = 1e6 if unit == "M" else 1e3
            return f"{value / scale:.3g}{unit}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _curves(report: Report) -> dict[tuple[str, str], Any]:
    """Return one plot per environment and method: its seeds, their mean and range, the others."""
    plots: dict[tuple[str, str], Any] = {}
    for cell in report.cells:
        runs = [r for r in report.results if r.environment == cell.environment]
        most = max(run.curve.steps[-1] for run in runs)
        lines: list[Line] = []
        for method in {run.method for run in runs} - {cell.method}:
            xs, ys, _, _ = _summary([run for run in runs if run.method == method])
            lines.append(Line(xs=xs, ys=ys, kind="other", title=method))
        mine = [run for run in runs if run.method == cell.method]
        lines += [
            Line(xs=r.curve.steps, ys=r.curve.values, kind="seed", title=f"seed {r.seed}")
            for r in mine
        ]
        xs, ys, lows, highs = _summary(mine)
        lines.append(Line(xs=xs, ys=ys, kind="mean", title=f"{cell.method}, mean"))
        plots[cell.environment, cell.method] = plot(
            lines,
            [Band(xs=xs, lows=lows, highs=highs)],
            most_x=most,
            label=f"success of {cell.method} on {cell.environment} over updates",
            x_name="updates",
        )
    return plots


def _summary(runs: list[RunResult]) -> tuple[list[int], list[float], list[float], list[float]]:
    """Return steps, mean, least and largest success where all runs were evaluated."""
    steps = set(runs[0].curve.steps)
    for run in runs:
        steps &= set(run.curve.steps)
    xs = sorted(steps)
    known = [dict(zip(run.curve.steps, run.curve.values, strict=True)) for run in runs]
    columns = [[values[x] for values in known] for x in xs]
    means = [sum(column) / len(column) for column in columns]
    return xs, means, [min(column) for column in columns], [max(column) for column in columns]


def _profiles(report: Report, order: list[str]) -> Any:
    """Return the share of runs that end at each success rate or above, by method."""
    thresholds = [step / 50 for step in range(51)]
    lines = [
        Line(
            xs=thresholds,
            ys=performance_profile(
                [getattr(run, report.judged_by) for run in report.results if run.method == name],
                thresholds,
            ),
            kind=f"m{place % 10}",
            title=name,
        )
        for place, name in enumerate(order)
    ]
    return plot(lines, most_x=1.0, label="share of runs over success rate", x_name="success rate")
