"""Plots as SVG text: curves with bands, profiles. Colours come from the page's style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 300, 150, 34, 20, 8, 8


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of a plot."""

    xs: Sequence[float]
    ys: Sequence[float]
    kind: str
    """Class of the style sheet: `mean`, `seed`, `other`, or `mN` for colour N."""
    title: str = ""
    """Shown on hover."""


@dataclass(frozen=True, kw_only=True)
class Band:
    """The area between two lines."""

    xs: Sequence[float]
    lows: Sequence[float]
    highs: Sequence[float]


def plot(
    lines: Sequence[Line], bands: Sequence[Band] = (), *, most_x: float, label: str, x_name: str
) -> Markup:
    """Return a plot of values from 0 to 1 over 0 to `most_x`.

    Args:
        lines: drawn in order, over the bands.
        bands: behind.
        most_x: right end of the axis.
        label: what a screen reader says.
        x_name: unit of the axis.
    """
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_text(label)}">',
        *_axes(most_x, x_name),
    ]
    for band in bands:
        there = _points(band.xs, band.highs, most_x)
        back = _points(list(reversed(band.xs)), list(reversed(band.lows)), most_x)
        parts.append(f'<polygon class="band" points="{there} {back}"/>')
    for line in lines:
        title = f"<title>{_text(line.title)}</title>" if line.title else ""
        points = _points(line.xs, line.ys, most_x)
        parts.append(f'<polyline class="{line.kind}" points="{points}">{title}</polyline>')
    return Markup("".join([*parts, "</svg>"]))  # every text was escaped


def _axes(most_x: float, x_name: str) -> list[str]:
    parts: list[str] = []
    for value in (0.0, 0.5, 1.0):
        y = _y(value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 4}" y="{y + 3}" text-anchor="end">{value:g}</text>')
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        x, text = LEFT + share * (WIDTH - LEFT - RIGHT), f"{share * most_x:g}"
        text += f" {_text(x_name)}" if share == 1.0 else ""
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 5}" text-anchor="{anchor}">{text}</text>')
    return parts


def _points(xs: Sequence[float], ys: Sequence[float], most_x: float) -> str:
    inner = WIDTH - LEFT - RIGHT
    return " ".join(
        f"{LEFT + inner * x / max(most_x, 1e-9):.1f},{_y(y):.1f}"
        for x, y in zip(xs, ys, strict=True)
    )


def _y(value: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - value)


def _text(text: str) -> str:
    return str(Markup.escape(text))
