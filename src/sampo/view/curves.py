"""Scalars of a run's TensorBoard event files."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import SCALARS, EventAccumulator

MAX_POINTS = 800
"""Of a curve on the page; its charts are narrower than that in pixels."""
_NOT_OURS = {"hp_metric", "epoch", "step"}


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One scalar over the updates of a run."""

    steps: tuple[int, ...]
    """Updates done, increasing."""
    values: tuple[float, ...]
    """NaN where something was not a number."""


@dataclass(frozen=True, kw_only=True)
class Curves:
    """All scalars of a run."""

    by_tag: dict[str, Curve]
    started: float | None
    """Seconds since the epoch of the first scalar; None: there are no scalars."""
    ended: float | None
    """The same of the last one."""


def read_curves(folder: Path) -> Curves:
    """Return the scalars of all event files in a folder; a broken-off file ends where it ends.

    Where a step was logged twice, the later value counts.
    """
    logging.getLogger("tensorboard").setLevel(logging.ERROR)  # it reports each file that it opens
    events = EventAccumulator(str(folder), size_guidance={SCALARS: 0})
    events.Reload()
    by_tag: dict[str, Curve] = {}
    times: list[float] = []
    for tag in events.Tags()["scalars"]:
        scalars = events.Scalars(tag)
        times += [scalars[0].wall_time, scalars[-1].wall_time]
        if tag not in _NOT_OURS:
            points = sorted({event.step: event.value for event in scalars}.items())
            by_tag[tag] = thinned(*zip(*points, strict=True))
    return Curves(by_tag=by_tag, started=min(times, default=None), ended=max(times, default=None))


def thinned(steps: Sequence[int], values: Sequence[float]) -> Curve:
    """Return a curve of at most `MAX_POINTS` points that still shows every spike.

    Of each run of neighbours the smallest and the largest stay.
    """
    if len(steps) <= MAX_POINTS:
        return Curve(steps=tuple(steps), values=tuple(values))
    width = math.ceil(2 * len(steps) / MAX_POINTS)
    kept: set[int] = {len(steps) - 1}
    for start in range(0, len(steps) - 1, width):
        places = range(start, min(start + width, len(steps)))
        finite = [i for i in places if math.isfinite(values[i])] or list(places)
        kept |= {min(finite, key=lambda i: values[i]), max(finite, key=lambda i: values[i])}
    chosen = sorted(kept)
    return Curve(steps=tuple(steps[i] for i in chosen), values=tuple(values[i] for i in chosen))
