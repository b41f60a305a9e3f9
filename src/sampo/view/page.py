"""Puts the page together: one HTML file with its style, its script and its data."""

from __future__ import annotations

import base64
import hashlib
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from sampo import __version__
from sampo.view.alarms import read_alarms
from sampo.view.charts import FOLDED, draw
from sampo.view.curves import Curve, Curves, read_curves, thinned
from sampo.view.details import Details, collect
from sampo.view.encoding import chunk, numbers
from sampo.view.facts import read_facts
from sampo.view.run_files import RunFiles

_SOURCES = Path(__file__).parent / "page"
_SCRIPTS = (
    "dom.js",
    "data.js",
    "state.js",
    "colours.js",
    "alarms.js",
    "chart.js",
    "curves.js",
    "headline.js",
    "timeline.js",
    "filters.js",
    "groups.js",
    "members.js",
    "visited.js",
    "episode.js",
    "tokens.js",
    "tip.js",
    "main.js",
)
"""Together they are the one script of the page."""
_STYLES = ("base.css", "curves.css", "browser.css", "tokens.css", "visited.css", "narrow.css")


@dataclass(frozen=True, kw_only=True)
class Page:
    """What was written."""

    path: Path
    size: int
    """Bytes."""
    updates: int
    """Files of rollouts."""
    shown: int
    """Files, rollouts and evaluations, whose episodes are on the page."""
    notices: tuple[str, ...]
    """What was missing or broken, one sentence each."""


def write_page(run: RunFiles, output: Path) -> Page:
    """Write the page of a run; the file appears when it is complete."""
    alarms, notices = read_alarms(run.alarms)
    facts, config, wrong = read_facts(run.config)
    notices += wrong
    curves = read_curves(run.folder)
    if not run.has_events:
        notices.append("There are no curves: the folder holds no events.out.tfevents* file.")
    details = collect(run.episodes, {alarm["step"] for alarm in alarms})
    notices += details.notices
    if not run.episodes:
        notices.append("There are no episodes: the folder holds no episodes/*.jsonl.")
    charts, by_tag = draw(curves.by_tag | _success_by_type(details))
    times = _times(curves)
    data = {
        "charts": [asdict(chart) for chart in charts],
        "folded": FOLDED,
        "curves": {tag: _points(curve) for tag, curve in by_tag.items()},
        "files": details.summaries,
        "alarms": alarms,
        "seconds": times["seconds"],
        "phases": times["phases"],
    }
    text = _render(
        name=run.name,
        folder=str(run.folder),
        facts=facts,
        config=config,
        notices=notices,
        started=times["started"],
        data=chunk(data),
        chunks=details.chunks,
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_name(f".{output.name}.{os.getpid()}.partial")
    try:
        size = partial.write_bytes(text.encode("utf-8", "replace"))
        partial.replace(output)
    finally:
        partial.unlink(missing_ok=True)
    return Page(
        path=output,
        size=size,
        updates=sum(file.kind == "update" for file in run.episodes),
        shown=len(details.chunks),
        notices=tuple(notices),
    )


def _render(**values: Any) -> str:
    """Return the HTML; its policy allows this script and style, and no connection anywhere."""
    environment = Environment(
        loader=FileSystemLoader(_SOURCES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    parts = [(_SOURCES / name).read_text("utf-8") for name in _SCRIPTS]
    script = "\n".join(parts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("page.html.j2").render(
        script=script,
        style="\n".join((_SOURCES / name).read_text("utf-8") for name in _STYLES),
        script_hash=digest,
        version=__version__,
        **values,
    )


def _points(curve: Curve) -> list[list[Any]]:
    """Return (steps, values) of a curve with as many points as the page needs."""
    drawn = thinned(curve.steps, curve.values)
    return [list(drawn.steps), numbers(drawn.values)]


def _success_by_type(details: Details) -> dict[str, Curve]:
    """Return the success rate of the rollouts in the files by task type."""
    points: dict[str, dict[int, float]] = {}
    for row in details.summaries:
        if row["kind"] == "update":
            for name, (solved, count) in row["types"].items():
                points.setdefault(name, {})[row["step"]] = solved / count
    return {
        f"episodes/success_rate/{name}": Curve(steps=tuple(values), values=tuple(values.values()))
        for name, values in points.items()
    }


def _times(curves: Curves) -> dict[str, Any]:
    """Return when the run was and what its time went into, in seconds by phase."""
    if curves.started is None or curves.ended is None:
        return {"started": "", "seconds": 0.0, "phases": []}
    phases = {
        tag.removeprefix("time/").removesuffix("_s"): sum(curve.values)
        for tag, curve in curves.by_tag.items()
        if tag.startswith("time/") and tag.endswith("_s") and "_per_" not in tag
    }
    seconds = curves.ended - curves.started
    rest = seconds - sum(phases.values())
    if rest > 0:
        phases["other (evaluation, checkpoints)"] = rest
    started = datetime.fromtimestamp(curves.started, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return {"started": started, "seconds": seconds, "phases": list(phases.items())}
