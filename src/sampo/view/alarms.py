"""Alarms that a run raised: `alarms.jsonl`, one JSON object per line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FIELDS = (
    "step",
    "rule",
    "signal",
    "value",
    "threshold",
    "stage",
    "message",
    "episodes",
    "action",
)
"""What the page shows; only `step` must be there."""


def read_alarms(path: Path | None) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the alarms in order of their step, and a sentence for each line that is none."""
    if path is None:
        return [], []
    alarms: list[dict[str, Any]] = []
    notices: list[str] = []
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), start=1):
        try:
            row = json.loads(line)
            alarm = {name: row.get(name) for name in FIELDS}
            alarm["step"] = int(row["step"])
        except (ValueError, KeyError, TypeError, AttributeError):
            notices.append(f"Line {number} of {path.name} is no alarm and is not shown.")
        else:
            alarms.append(alarm)
    return sorted(alarms, key=lambda alarm: alarm["step"]), notices
