"""How a part of the objective is written as text: one function per class, open to new classes.

A class of one's own is described by its name, fields and docstring, or by a formula::

    @formula.register(MySurrogate)
    def my_surrogate(part: MySurrogate, run: Run) -> Formula:
        return Formula(term=f"−{run.advantage_symbol} tanh({run.ratio_symbol})")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import singledispatch
from typing import Any

from sampo.explain.run import Run


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One line below the objective: `symbol = formula`, and what it means."""

    symbol: str
    formula: str
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class Formula:
    """A part of the objective."""

    term: str
    """What stands in the objective, e.g. `−A_i s_i`."""
    where: tuple[Definition, ...] = ()
    """What its symbols mean; ratio and advantage are defined elsewhere."""


@singledispatch
def formula(part: Any, run: Run) -> Formula:
    """Return a part as text; unknown classes by name.

    Args:
        part: a surrogate, a ratio, an estimator, a stage or a shaping.
        run: where it is used, for the symbols of ratio and advantage.
    """
    return by_name(part, f"{type(part).__name__}_t")


def formula_of(part: Any, run: Run, symbol: str = "") -> Formula:
    """Return the formula of a part, a subclass without one of its own not taken for its base.

    Args:
        part: see `formula`.
        run: likewise.
        symbol: what an unknown part is called; empty: by its class.
    """
    if is_known(part):
        return formula(part, run)
    return by_name(part, symbol or f"{type(part).__name__}_t")


def is_known(part: Any) -> bool:
    """Return whether there is a formula for the very class of a part."""
    return type(part) in formula.registry


def by_name(part: Any, symbol: str) -> Formula:
    """Return what can be said of any object: class, fields, first line of its docstring."""
    line = Definition(symbol=symbol, formula=describe(part), words=summary(part))
    return Formula(term=symbol, where=(line,))


def summary(part: Any) -> str:
    """Return the first line of a class's own docstring; empty without one."""
    name, doc = type(part).__name__, type(part).__doc__ or ""
    generated = doc.startswith(f"{name}(")  # by `dataclass`, for want of another
    return "" if generated or not doc.strip() else doc.strip().splitlines()[0].rstrip()


def describe(part: Any) -> str:
    """Return `Class: field value, ...`, fields that are None left out.

    Example:
        >>> from sampo.losses import Clip
        >>> describe(Clip(clip_low=3e-3, clip_high=4e-3))
        'Clip: clip_low 0.003, clip_high 0.004'
    """
    if is_dataclass(part):
        names = [field.name for field in fields(part)]
    else:
        names = [name for name in getattr(part, "__dict__", {}) if not name.startswith("_")]
    values = [(name, getattr(part, name)) for name in names]
    shown = ", ".join(f"{name} {plain(value)}" for name, value in values if value is not None)
    return f"{type(part).__name__}: {shown}" if shown else type(part).__name__


def plain(value: Any) -> str:
    """Return a setting's value as one would write it in a config."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "none"}[value]
    if isinstance(value, int | float):
        return num(value).replace("−", "-")  # to be copied into a config
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return "[" + "; ".join(plain(entry) for entry in value) + "]"
    return describe(value)


def num(value: float) -> str:
    """Return a number in as few characters as it needs.

    Example:
        >>> num(1 - 0.003), num(1e-06), num(-20.0), num(12800)
        ('0.997', '1e-6', '−20', '12800')
    """
    mantissa, _, exponent = f"{abs(value):.6g}".partition("e")
    if isinstance(value, int):
        mantissa, exponent = str(abs(value)), ""
    text = f"{mantissa}e{int(exponent)}" if exponent else mantissa
    return f"−{text}" if value < 0 else text


def times(factor: float) -> str:
    """Return a factor in front of something: empty for 1.

    Example:
        >>> [times(factor) + "x" for factor in (1.0, 0.5)]
        ['x', '0.5 x']
    """
    return "" if factor == 1.0 else f"{num(factor)} "


def one(noun: str) -> str:
    """Return a noun with its article.

    Example:
        >>> one("turn"), one("episode")
        ('a turn', 'an episode')
    """
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def plural(count: int, noun: str, many: str = "") -> str:
    """Return a count with its noun.

    Example:
        >>> plural(1, "update"), plural(12800, "token"), plural(2, "batch", "batches")
        ('1 update', '12,800 tokens', '2 batches')
    """
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"
