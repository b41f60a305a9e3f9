# pyright: strict
"""Typed rules over one signal each. A rule says how far off the signal is; it keeps no state.

`severity` is 1 at the threshold, more beyond it, less on the healthy side; the monitor turns
severities into alarms, with confirmation and hysteresis.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sampo.collapse.robust import before, best, median_error, recent, slope
from sampo.errors import ConfigError

StageName = Literal["warning", "collapsing", "collapsed"]


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a rule says of a signal's history."""

    value: float
    threshold: float
    severity: float
    message: str
    """One clause, e.g. `train/ref_kl: 0.41 is 6.2 times what it was (0.066)`."""
    baseline: float | None = None
    """What the signal was before, for rules that compare with it. While a rule holds it is judged
    against the baseline of its onset: else a lasting jump would become its own normal."""


@dataclass(frozen=True, kw_only=True)
class Rule(ABC):
    """A condition on one signal."""

    signal: str
    """Name as logged, e.g. `train/ref_kl`. A signal that is not logged is never judged."""
    stage: StageName = "warning"
    """How bad it is when the rule holds."""
    window: int = 3
    """Updates whose median is judged."""
    confirm: int = 2
    """Updates in a row for which it must hold before there is an alarm."""

    def __post_init__(self) -> None:
        """Refuse windows of nothing."""
        if self.window < 1 or self.confirm < 1 or self.stage not in _STAGES:
            raise ConfigError(
                f"{type(self).__name__} of {self.signal}: window={self.window} and "
                f"confirm={self.confirm} must be at least 1, stage={self.stage!r} one of "
                f"{', '.join(_STAGES)}."
            )

    @property
    def name(self) -> str:
        """What alarms call it; unique for a signal, a kind of rule and a stage."""
        return f"{self.signal}:{type(self).__name__.lower()}:{self.stage}"

    @abstractmethod
    def judge(self, values: Sequence[float], baseline: float | None) -> Judgement | None:
        """Judge a history, oldest value first, finite values only; None: too early to say.

        Args:
            values: history of the signal.
            baseline: of the onset, while the rule holds.
        """


_STAGES: tuple[StageName, ...] = ("warning", "collapsing", "collapsed")


@dataclass(frozen=True, kw_only=True)
class _Level(Rule):
    """The recent median against a fixed threshold."""

    threshold: float

    @abstractmethod
    def _severity(self, value: float) -> float: ...

    def judge(self, values: Sequence[float], baseline: float | None) -> Judgement | None:
        """Judge the recent median."""
        value = recent(values, self.window)
        if value is None:
            return None
        side = type(self).__name__.lower()
        return Judgement(
            value=value,
            threshold=self.threshold,
            severity=self._severity(value),
            message=f"{self.signal}: {value:.3g} is {side} {self.threshold:.3g}",
        )


@dataclass(frozen=True, kw_only=True)
class Above(_Level):
    """The signal is large."""

    def _severity(self, value: float) -> float:
        return value / self.threshold


@dataclass(frozen=True, kw_only=True)
class Below(_Level):
    """The signal is small."""

    def _severity(self, value: float) -> float:
        return self.threshold / value if value > 0.0 else math.inf


@dataclass(frozen=True, kw_only=True)
class Drop(Rule):
    """The signal has lost a share of its best: the best median of `window` updates so far."""

    share: float
    """Lost share at which the rule holds."""
    errors: float = 3.0
    """The loss must be so many standard errors of the median too: few episodes make noise."""
    least_best: float = 0.1
    """Not judged before the best has come so far."""

    def judge(self, values: Sequence[float], baseline: float | None) -> Judgement | None:
        """Judge the recent median against the best one."""
        value, top = recent(values, self.window), best(values, self.window)
        if value is None or top is None or top < self.least_best:
            return None
        needed = max(self.share * top, self.errors * median_error(values, self.window))
        return Judgement(
            value=value,
            threshold=top - needed,
            severity=max(top - value, 0.0) / needed,
            message=f"{self.signal}: {value:.3g} after a best of {top:.3g}",
        )


@dataclass(frozen=True, kw_only=True)
class Jump(Rule):
    """The signal is many times what it was."""

    factor: float
    """Above 1: it rose so many times. Below 1: it fell to this share."""
    floor: float = 0.0
    """A rise counts only above this value, a fall only below it (0: always): small numbers jump."""
    history: int = 20
    """Updates before the window that make up what it was."""
    least_history: int = 5

    def judge(self, values: Sequence[float], baseline: float | None) -> Judgement | None:
        """Judge the recent median against the one before."""
        value = recent(values, self.window)
        if baseline is None:
            baseline = before(values, self.window, self.history, self.least_history)
        if value is None or baseline is None:
            return None
        rise = self.factor > 1.0
        threshold = baseline * self.factor
        if self.floor > 0.0:
            threshold = max(threshold, self.floor) if rise else min(threshold, self.floor)
        if rise:
            severity = value / threshold if threshold > 0.0 else 0.0
        else:
            severity = threshold / value if value > 0.0 else math.inf
        return Judgement(
            value=value,
            threshold=threshold,
            severity=severity,
            baseline=baseline,
            message=f"{self.signal}: {value:.3g}, before it was {baseline:.3g}",
        )


@dataclass(frozen=True, kw_only=True)
class Slope(Rule):
    """The signal moves one way for a whole window, by its Theil-Sen slope."""

    per_update: float
    """Slope at which the rule holds; negative for a fall."""
    window: int = 10

    def judge(self, values: Sequence[float], baseline: float | None) -> Judgement | None:
        """Judge the slope of the last `window` values."""
        if len(values) < self.window:
            return None
        value = slope(values[-self.window :])
        return Judgement(
            value=value,
            threshold=self.per_update,
            severity=max(value / self.per_update, 0.0),
            message=f"{self.signal}: changes by {value:.3g} per update",
        )


@dataclass(frozen=True, kw_only=True)
class NonFinite(Rule):
    """The signal is not a number: judged by the monitor itself, at once."""

    stage: StageName = "collapsing"
    confirm: int = 1

    def judge(self, values: Sequence[float], baseline: float | None) -> Judgement | None:
        """Return that all is well: the values given here are finite."""
        return Judgement(value=0.0, threshold=0.0, severity=0.0, message="")
