"""What a search may turn: settings of `sampo fit`, and the values that they may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sampo.errors import ConfigError

Value = int | float
"""What a search chooses: the place of a choice in its list, or a number of a range."""


@dataclass(frozen=True, kw_only=True)
class Knob:
    """One thing to choose: out of a list, or from a range of numbers.

    Example:
        >>> Knob(name="model.loss.kl_coef", choices=(0.01, 0.05)).settings(1)
        {'model.loss.kl_coef': 0.05}
        >>> Knob(name="clip", choices=({"a": 1, "b": 2}, {"a": 3, "b": 4})).settings(0)
        {'a': 1, 'b': 2}
    """

    name: str
    """The setting; any name where each choice is a mapping of several settings."""
    choices: tuple[Any, ...] = ()
    low: float = 0.0
    """Of a range; so are the next two."""
    high: float = 0.0
    log: bool = False

    def settings(self, value: Value) -> dict[str, Any]:
        """Return the settings that a value stands for."""
        if not self.choices:
            return {self.name: value}
        choice = self.choices[int(value)]
        return dict(choice) if isinstance(choice, dict) else {self.name: choice}

    @property
    def first(self) -> Value:
        """What the first trial takes: the first choice, or the middle of the range."""
        if self.choices:
            return 0
        return (self.low * self.high) ** 0.5 if self.log else (self.low + self.high) / 2


def read_knobs(entry: Any, where: str) -> tuple[Knob, ...]:
    """Read the knobs of a method: `{setting: [values], setting: {low:, high:, log:}}`.

    Raises:
        ConfigError: an entry is neither a list of values nor a range.
    """
    if not isinstance(entry, dict):
        raise ConfigError(f"{where} must name settings and their values, got {entry!r}.")
    return tuple(_knob(str(name), value, f"{where}.{name}") for name, value in entry.items())


def combinations(knobs: tuple[Knob, ...]) -> float:
    """Return how many settings there are; infinite where one of them is a range."""
    number = 1.0
    for knob in knobs:
        number *= len(knob.choices) or float("inf")
    return number


def settings_of(knobs: tuple[Knob, ...], values: Mapping[str, Value]) -> dict[str, Any]:
    """Return the settings that the values of all knobs stand for."""
    return {key: part for knob in knobs for key, part in knob.settings(values[knob.name]).items()}


def _knob(name: str, value: Any, where: str) -> Knob:
    if isinstance(value, list) and value:
        grouped = [isinstance(choice, dict) for choice in value]
        if any(grouped) and not all(grouped):
            raise ConfigError(f"{where} mixes values with mappings of settings: {value}.")
        return Knob(name=name, choices=tuple(value))
    if isinstance(value, dict) and {"low", "high"} <= set(value) <= {"low", "high", "log"}:
        low, high, log = _number(value["low"]), _number(value["high"]), value.get("log", False)
        if low is not None and high is not None and low < high and isinstance(log, bool):
            if log and low <= 0.0:
                raise ConfigError(f"{where}: a range on a log scale starts above 0, not at {low}.")
            return Knob(name=name, low=low, high=high, log=log)
    raise ConfigError(
        f"{where} must be a list of values or a range like {{low: 1.0e-4, high: 1.0e-3, log: true}}"
        f", got {value!r}."
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
