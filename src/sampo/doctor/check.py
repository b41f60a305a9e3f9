"""What a check is, and what it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from sampo.doctor.inputs import DoctorInputs


class Status(str, Enum):
    """How a check went."""

    OK = "ok"
    SKIPPED = "skipped"
    FAILED = "FAILED"


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """The answer of one check."""

    name: str
    status: Status
    detail: str
    """What was found, with numbers; of a skipped check, why."""
    fix: str = ""
    """What to do, where the check failed."""
    seconds: float = 0.0


class Check(ABC):
    """One thing that must hold before a run is worth its time.

    Implementations are frozen dataclasses. They may raise: whoever runs them reports that as a
    failure with the class's `fix`.
    """

    name: ClassVar[str]
    fix: ClassVar[str]
    """What to do when it fails, as far as that can be said beforehand."""
    needs: ClassVar[tuple[type[Check], ...]] = ()
    """Checks that have to pass before this one says anything."""

    @abstractmethod
    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Return what was found."""

    def ok(self, detail: str) -> CheckResult:
        """Return a pass."""
        return CheckResult(name=self.name, status=Status.OK, detail=detail)

    def skipped(self, reason: str) -> CheckResult:
        """Return that the check does not apply, and why."""
        return CheckResult(name=self.name, status=Status.SKIPPED, detail=reason)

    def failed(self, detail: str, fix: str | None = None) -> CheckResult:
        """Return a failure; `fix` replaces the class's own where more is known."""
        return CheckResult(
            name=self.name,
            status=Status.FAILED,
            detail=detail,
            fix=self.fix if fix is None else fix,
        )
