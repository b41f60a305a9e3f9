"""Learning rates as pure functions of how much is done, so that a resumed run needs no state."""

from __future__ import annotations

import math
from typing import Literal

Schedule = Literal["constant", "linear", "cosine"]


def lr_factor(kind: Schedule, done: int, total: int | None, warmup: int = 0) -> float:
    """Return the factor on the learning rate of the step after `done` steps.

    It rises linearly to 1 over the warm-up (no step has factor 0, which would waste it), then stays
    at 1, or falls to 0 along a line or half a cosine.

    Args:
        kind: the course after the warm-up.
        done: steps taken.
        total: steps in all; None only where the course is constant.
        warmup: steps of the warm-up.

    Example (four steps, two of them warm-up; then cos 0 and cos pi/2):
        >>> [round(lr_factor("cosine", done, 4, 2), 3) for done in range(4)]
        [0.333, 0.667, 1.0, 0.5]
    """
    if done < warmup:
        return (done + 1) / (warmup + 1)
    if kind == "constant":
        return 1.0
    assert total is not None
    share = min((done - warmup) / max(total - warmup, 1), 1.0)
    return 1.0 - share if kind == "linear" else 0.5 * (1.0 + math.cos(math.pi * share))
