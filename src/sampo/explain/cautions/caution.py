"""A combination that is legal and unwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sampo.explain.run import Run


@dataclass(frozen=True, kw_only=True)
class Caution:
    """What is unwise about a config, why, and what to set instead."""

    says: str
    """The setting and what it does, one sentence."""
    why: str
    fix: str
    """Options or a choice; several separated by `, or`."""


Rule = Callable[[Run], Caution | None]
"""None where there is nothing to be said."""
