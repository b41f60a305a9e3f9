"""Table 3 of the paper: Qwen3-4B (in mathematics Qwen3-4B-Base), one run each, no error bars.

ARLArena, https://arxiv.org/abs/2602.21534.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """A cell of the table."""

    score: float | None
    """ALFWorld, Sokoban: reward of an episode, longer ones counting more; WebShop: the task's."""
    success: float
    """In percent; mathematics: avg@k on AIME 2024."""


_COLUMNS = ("alfworld", "webshop", "sokoban", "tir_math")
_ROWS: dict[str, tuple[tuple[float | None, float] | None, ...]] = {
    "grpo": ((3.70, 62.36), (75.32, 57.71), (5.51, 83.90), (None, 49.96)),
    "grpo_st": ((4.41, 72.61), (64.57, 51.29), (3.03, 68.73), (None, 27.55)),
    "sapo": ((0.80, 25.16), (73.85, 52.10), (-0.23, 30.25), (None, 45.00)),
    "cispo": ((2.16, 54.42), (67.96, 54.71), (-0.47, 26.02), (None, 36.53)),
    "gspo": ((5.19, 78.61), (85.29, 72.48), (5.22, 82.22), (None, 51.29)),
    "gigpo": ((4.97, 81.09), (67.76, 56.55), (5.19, 82.67), None),
    "empg": ((3.32, 57.91), (79.16, 64.32), (4.48, 79.16), None),
    "dapo": ((1.95, 49.58), (62.43, 46.17), (5.16, 82.40), (None, 54.66)),
    "dapo_gigpo": ((2.49, 60.55), (88.10, 76.82), (6.01, 86.20), None),
    "sampo": ((7.04, 92.72), (88.37, 77.73), (6.56, 88.86), None),
}

TABLE_3: dict[str, dict[str, Published]] = {
    method: {
        place: Published(*cell)
        for place, cell in zip(_COLUMNS, row, strict=True)
        if cell is not None
    }
    for method, row in _ROWS.items()
}
"""By the name of the method's fragment in `configs/algorithms/`, in the paper's order."""
