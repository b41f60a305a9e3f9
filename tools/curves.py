"""How something grows, as lines of text and as a picture; for bench_scaling."""

from __future__ import annotations

from math import log
from pathlib import Path

import matplotlib.pyplot as plt

Curve = list[tuple[int, float]]  # a number and what was measured at it


def report(title: str, unit: str, curve: Curve) -> None:
    """Print a curve and how it grows: 1.00 is in proportion, 0 not at all, 2 with the square."""
    print(f"\n{title}")
    for (x, y), before in zip(curve, [None, *curve], strict=False):
        power = ""
        if before:
            power = f"   grows with the power {log(y / before[1]) / log(x / before[0]):.2f}"
        print(f"{x:>8,} {y:>10,.2f} {unit}{power}", flush=True)


def draw(curves: dict[str, tuple[str, Curve]], file: Path) -> None:
    """Draw all curves, doubly logarithmic."""
    figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
    panels = [*axes, axes[-1]]
    for axis, (title, (unit, curve)) in zip(panels, curves.items(), strict=True):
        axis.loglog(*zip(*curve, strict=True), marker="o", ms=3, base=2, label=title)
        axis.set_xlabel(title.split(",")[0])
        axis.set_ylabel(unit)
        axis.grid(alpha=0.3)
    axes[-1].legend(["as it is", "gradient checkpointing"], fontsize=8)
    figure.savefig(file, dpi=80)
