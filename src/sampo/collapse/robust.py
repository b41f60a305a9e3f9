# pyright: strict
"""Statistics that a single odd update does not move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median


def recent(values: Sequence[float], window: int) -> float | None:
    """Return the median of the last `window` values; None before there are so many."""
    return median(values[-window:]) if len(values) >= window else None


def before(values: Sequence[float], window: int, baseline: int, least: int) -> float | None:
    """Return the median of the `baseline` values before the last `window`; None below `least`."""
    earlier = values[max(len(values) - window - baseline, 0) : len(values) - window]
    return median(earlier) if len(earlier) >= least else None


def best(values: Sequence[float], window: int) -> float | None:
    """Return the largest median of any `window` values in a row; None before there are so many."""
    medians = [median(values[i : i + window]) for i in range(len(values) - window + 1)]
    return max(medians, default=None)


def slope(values: Sequence[float]) -> float:
    """Return the Theil-Sen slope: the median of the slopes between all pairs of values.

    Example:
        >>> slope([0.0, 1.0, 2.0, 90.0, 4.0])
        1.0
    """
    pairs = [
        (values[j] - values[i]) / (j - i)
        for i in range(len(values))
        for j in range(i + 1, len(values))
    ]
    return median(pairs) if pairs else 0.0


def median_error(values: Sequence[float], window: int) -> float:
    """Return the standard error of a median of `window` values, from how much neighbours differ.

    The spread is `1.4826 median|difference| / sqrt(2)`, which a trend or a few outliers do not
    move much; a median of normal values has 1.2533 times the error of their mean.

    Example:
        >>> median_error([1.0, 1.0, 1.0, 1.0], 4)
        0.0
        >>> round(median_error([0.0, 1.0] * 9, 4), 3)
        0.657
    """
    steps = [abs(later - value) for value, later in pairwise(values)]
    spread = 1.4826 * median(steps) / math.sqrt(2.0) if steps else 0.0
    return 1.2533 * spread / math.sqrt(window)
