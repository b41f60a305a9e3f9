"""One point on which the paper and its code differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sampo.explain.run import Run

NOTHING = "–"
"""What the paper says where it says nothing."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What the paper says, what its code does, and what this run does."""

    point: str
    paper: str
    code: str
    here: str


Point = Callable[[Run], Difference | None]
"""None where a config does not touch it."""
