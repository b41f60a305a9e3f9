"""Table 3 of the paper: Qwen3-4B, one run each, without error bars.

ARLArena, https://arxiv.org/abs/2602.21534: success rate in percent; AIME is avg@k.
"""

from __future__ import annotations

ENVIRONMENTS = ("alfworld", "webshop", "sokoban", "tir_math")

TABLE_3: dict[str, dict[str, float]] = {
    "grpo": {"alfworld": 62.36, "webshop": 57.71, "sokoban": 83.90, "tir_math": 49.96},
    "grpo_st": {"alfworld": 72.61, "webshop": 51.29, "sokoban": 68.73, "tir_math": 27.55},
    "sapo": {"alfworld": 25.16, "webshop": 52.10, "sokoban": 30.25, "tir_math": 45.00},
    "cispo": {"alfworld": 54.42, "webshop": 54.71, "sokoban": 26.02, "tir_math": 36.53},
    "gspo": {"alfworld": 78.61, "webshop": 72.48, "sokoban": 82.22, "tir_math": 51.29},
    "gigpo": {"alfworld": 81.09, "webshop": 56.55, "sokoban": 82.67},
    "empg": {"alfworld": 57.91, "webshop": 64.32, "sokoban": 79.16},
    "dapo": {"alfworld": 49.58, "webshop": 46.17, "sokoban": 82.40, "tir_math": 54.66},
    "dapo_gigpo": {"alfworld": 60.55, "webshop": 76.82, "sokoban": 86.20},
    "sampo": {"alfworld": 92.72, "webshop": 77.73, "sokoban": 88.86},
}
"""By the name of the method's fragment in `configs/algorithms/`; `tir_math`: AIME 2024."""
