"""Texts out of a game's grammar, letter for letter as TextWorld derives them.

TextWorld parses a text's symbols anew and deep-copies its context at every expansion; here symbols
are parsed once and contexts are shared. Expressions in braces are read as what they are, names and
`+` and `or`, and not run as Python: a game file is data.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from textworld.envs.pddl import textgen
from textworld.logic import Placeholder, Rule, State

_ATTRIBUTES = ("id", "type", "name", "definite", "indefinite")
Mapped = Mapping[Placeholder, Any]


@dataclass(frozen=True)
class Entity:
    """A thing that texts speak of; the fields are what expressions may name."""

    id: str
    type: str
    name: str
    definite: str = "the"
    indefinite: str = "a"


@dataclass(frozen=True)
class Scene:
    """What a text is derived in."""

    facts: State
    entities: Mapping[str, Entity]
    rules: Mapping[str, list[textgen.ProductionRule]]
    mapping: Mapped
    """What stands for what; its entities are the variables of expressions."""

    def within(self, mapping: Mapped) -> Scene:
        """Return the same scene with other things in their places."""
        return Scene(self.facts, self.entities, self.rules, mapping)


def derive(text: str, scene: Scene) -> str:
    """Return what a text with symbols stands for.

    Raises:
        ValueError: The grammar has no such symbol, or an expression that is not understood.
    """
    return "".join(_expand(symbol, scene) for symbol in symbols(text))


@lru_cache(maxsize=4096)
def symbols(text: str) -> tuple[textgen.Symbol, ...]:
    """Return the symbols of a text, which must not be changed."""
    return tuple(textgen._parse_and_convert(text, rule_name="symbols"))


@lru_cache(maxsize=1024)
def query(condition: str) -> Rule:
    """Return a condition in the form that facts are asked with."""
    return Rule.parse_conjunctive_query(condition)


class Lookups(NamedTuple):
    """What a text looks up in the facts."""

    predicates: frozenset[str]
    variables: frozenset[str]


def lookups(text: str) -> Lookups | None:
    """Return what a text looks up, or None where other symbols decide."""
    found: list[Any] = []
    pending: list[Any] = list(symbols(text))
    while pending:
        symbol = pending.pop()
        if isinstance(symbol, textgen.NonterminalSymbol):
            return None
        if isinstance(symbol, textgen.ListSymbol):
            pending.append(symbol.symbol)
        elif isinstance(symbol, textgen.ConditionalSymbol):
            pending.append(symbol.expression)
            found += query(symbol.given).preconditions if symbol.given else ()
    return Lookups(
        frozenset(one.name for one in found),
        frozenset(placeholder.name for one in found for placeholder in one.parameters),
    )


def _expand(symbol: Any, scene: Scene) -> str:
    if isinstance(symbol, textgen.TerminalSymbol):
        return str(symbol.symbol)
    if isinstance(symbol, textgen.NonterminalSymbol):
        rule = _rule(str(symbol.symbol), scene)
        return "".join(_expand(part, scene) for part in rule.rhs)
    if isinstance(symbol, textgen.ListSymbol):
        return _enumerate([_expand(*one) for one in _alternatives(symbol.symbol, scene)], scene)
    return "".join(
        _evaluate(one.expression, inner)
        if isinstance(one, textgen.EvalSymbol)
        else _expand(one, inner)
        for one, inner in _alternatives(symbol, scene)
    )


def _alternatives(symbol: Any, scene: Scene) -> list[tuple[Any, Scene]]:
    """Return a symbol's expression with each of the scenes that its condition finds."""
    if not isinstance(symbol, textgen.ConditionalSymbol):
        return [(symbol, scene)]
    if not symbol.given:
        return [(symbol.expression, scene)]
    found = scene.facts.all_assignments(query(symbol.given), scene.mapping)
    return [(symbol.expression, scene.within(mapping)) for mapping in found]


def _enumerate(texts: list[str], scene: Scene) -> str:
    if not texts:
        return derive("#list_empty#", scene)
    if len(texts) == 1:
        return texts[0]
    last = derive("#list_last_separator#", scene)
    return derive("#list_separator#", scene).join(texts[:-1]) + last + texts[-1]


def _rule(name: str, scene: Scene) -> textgen.ProductionRule:
    """Return the first rule of a symbol whose condition holds."""
    for rule in scene.rules.get(name, ()):
        if not rule.condition:
            return rule
        if any(True for _ in scene.facts.all_assignments(query(rule.condition), scene.mapping)):
            return rule
    raise ValueError(f"the grammar has no rule for #{name}# that applies")


def _evaluate(expression: str, scene: Scene) -> str:
    value = _value(_tree(expression), scene)
    return value.name if isinstance(value, Entity) else value


@lru_cache(maxsize=1024)
def _tree(expression: str) -> ast.expr:
    return ast.parse(expression.strip(), mode="eval").body


def _value(node: ast.expr, scene: Scene) -> Any:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            for placeholder, variable in scene.mapping.items():
                if placeholder.name == name:
                    return scene.entities[variable.name]
        case ast.Attribute(value=inner, attr=attribute) if attribute in _ATTRIBUTES:
            return getattr(_value(inner, scene), attribute)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _value(left, scene) + _value(right, scene)
        case ast.BoolOp(op=ast.Or(), values=values):
            return next(filter(None, (_value(one, scene) for one in values)), "")
    raise ValueError(f"the grammar has the expression {ast.unparse(node)!r}, which is not allowed")
