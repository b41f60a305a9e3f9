# pyright: strict
"""The machine of four stages: rules in, alarms out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sampo.collapse.rules import Judgement, NonFinite, Rule
from sampo.collapse.stages import Alarm, Stage
from sampo.errors import ConfigError

RELEASE = 0.8
"""Severity below which a rule that holds counts as better: less than it takes to raise it."""
MEMORY = 200
"""Values of each signal that are kept."""


@dataclass(kw_only=True)
class _State:
    """What is known of one rule."""

    beyond: int = 0
    """Updates in a row beyond the threshold."""
    better: int = 0
    """Updates in a row clearly on the healthy side, while it holds."""
    holds: bool = False
    onset: int = 0
    """Update at which it was first beyond the threshold."""
    baseline: float | None = None


@dataclass(kw_only=True)
class CollapseMonitor:
    """Follows the signals of a run.

    A rule raises an alarm when it was beyond its threshold for `confirm` updates in a row, and
    holds until it was clearly better for `release` updates in a row. The stage is that of the worst
    rule that holds; `agreeing` warnings on different signals make a collapse in the making.
    """

    rules: Sequence[Rule]
    agreeing: int = 3
    release: int = 3
    history: dict[str, list[float]] = field(default_factory=dict[str, list[float]], init=False)
    _states: dict[str, _State] = field(default_factory=dict[str, _State], init=False)

    def __post_init__(self) -> None:
        """Refuse two rules under one name."""
        names = [rule.name for rule in self.rules]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigError(f"Two collapse rules are called {twice[0]}; give them other stages.")
        self._states = {name: _State() for name in names}

    @property
    def stage(self) -> Stage:
        """How the run is now."""
        holding = [rule for rule in self.rules if self._states[rule.name].holds]
        worst = max((Stage.named(rule.stage) for rule in holding), default=Stage.HEALTHY)
        if worst is Stage.WARNING and len({rule.signal for rule in holding}) >= self.agreeing:
            return Stage.COLLAPSING
        return worst

    @property
    def onset(self) -> int | None:
        """The first update at which a rule that holds now was beyond its threshold."""
        return min((state.onset for state in self._states.values() if state.holds), default=None)

    def update(self, step: int, signals: Mapping[str, float]) -> list[Alarm]:
        """Take in the signals of an update and return the alarms that they raise.

        Args:
            step: number of the update, from 1.
            signals: values by name, as logged.
        """
        for name in {rule.signal for rule in self.rules}:
            if math.isfinite(signals.get(name, math.nan)):
                values = self.history.setdefault(name, [])
                values.append(float(signals[name]))
                del values[:-MEMORY]
        raised = [
            (rule, judgement)
            for rule in self.rules
            if rule.signal in signals
            and (judgement := self._judge(rule, step, signals[rule.signal])) is not None
        ]
        return [
            Alarm(
                step=step,
                rule=rule.name,
                signal=rule.signal,
                value=judgement.value,
                threshold=judgement.threshold,
                stage=self.stage.name.lower(),
                message=judgement.message,
            )
            for rule, judgement in raised
        ]

    def restart(self) -> None:
        """Forget the present trouble, after the run was put back; what was best stays known."""
        for rule in self.rules:
            self._states[rule.name] = _State()

    def forget_since(self, updates: int) -> None:
        """Drop the last values of every signal: they belong to weights that are gone."""
        for values in self.history.values():
            del values[max(len(values) - updates, 0) :]

    def state_dict(self) -> dict[str, Any]:
        """Return plain values, for a checkpoint."""
        return {
            "history": {name: list(values) for name, values in self.history.items()},
            "states": {name: dict(vars(state)) for name, state in self._states.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore; rules that the checkpoint does not know start afresh."""
        self.history = {name: list(values) for name, values in state["history"].items()}
        known = {name: _State(**values) for name, values in state["states"].items()}
        self._states = {rule.name: known.get(rule.name, _State()) for rule in self.rules}

    def _judge(self, rule: Rule, step: int, latest: float) -> Judgement | None:
        """Move a rule's state on; return its judgement if it raises an alarm now."""
        state = self._states[rule.name]
        if isinstance(rule, NonFinite):
            bad = not math.isfinite(latest)
            text = f"{rule.signal}: {latest} is not a finite number"
            severity = math.inf if bad else 0.0
            judgement = Judgement(value=latest, threshold=0.0, severity=severity, message=text)
        else:
            values = self.history.get(rule.signal, ())
            judgement = rule.judge(values, state.baseline if state.beyond or state.holds else None)
        if judgement is None:
            return None
        if judgement.severity > 1.0:
            if state.beyond == 0 and not state.holds:
                state.onset, state.baseline = step, judgement.baseline
            state.beyond, state.better = state.beyond + 1, 0
            if state.beyond >= rule.confirm and not state.holds:
                state.holds = True
                return judgement
            return None
        state.beyond = 0
        state.better = state.better + 1 if judgement.severity < RELEASE else 0
        if state.holds and state.better >= self.release:
            state.holds = False
        return None
