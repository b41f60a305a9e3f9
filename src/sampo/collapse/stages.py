# pyright: strict
"""How far a run has gone wrong, and the record of a rule that saw it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any


class Stage(IntEnum):
    """From good to lost; larger is worse."""

    HEALTHY = 0
    WARNING = 1
    """One signal is off; a look at the episodes costs nothing."""
    COLLAPSING = 2
    """Several signals agree, or one is far off: success is about to go."""
    COLLAPSED = 3
    """Success has gone."""

    @classmethod
    def named(cls, name: str) -> Stage:
        """Return the stage of a lower-case name."""
        return cls[name.upper()]


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """One rule that began to hold."""

    step: int
    """Update after which it was seen, from 1."""
    rule: str
    signal: str
    value: float
    threshold: float
    stage: str
    """Stage of the run with this alarm."""
    message: str
    episodes: str | None = None
    """File of the episodes behind it, if they were saved."""
    action: str = ""
    """What was done."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values; null stands for a number that JSON cannot express."""
        finite = self.value if math.isfinite(self.value) else None
        return asdict(self) | {"value": finite}
