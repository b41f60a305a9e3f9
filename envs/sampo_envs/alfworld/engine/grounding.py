"""A problem of a game, translated for the simulator, and kept on disk.

Fast Downward's translator takes up to a second for a real game, and TextWorld calls it four times
before the first observation. Its answer is a pure function of domain and problem, so it is worked
out once and kept in `$XDG_CACHE_HOME/sampo/alfworld` (or `~/.cache/...`), as JSON: what lies in a
cache is read, never executed. TextWorld's second translation serves its planner, which nobody
asks here.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import fast_downward
from fast_downward.translate import pddl

from sampo_envs.alfworld.data import cache_folder

Fact = tuple[str, tuple[str, ...]]
"""A predicate and the names of its arguments."""

_HOPELESS = "Atom dummy(val1)"
"""What the translator writes in place of a problem whose goal is out of reach."""
_FORM = 1
"""Version of what is written to disk."""


@dataclass(frozen=True, kw_only=True)
class Grounding:
    """What the translation of one problem is used for."""

    sas: str
    """The task in Fast Downward's own format."""
    types: tuple[tuple[str, tuple[str, ...]], ...]
    """Types with their supertypes."""
    objects: dict[str, str]
    """Type of each object."""
    parameters: dict[str, tuple[tuple[str, str], ...]]
    """Names and types of the parameters of each action."""
    init: tuple[Fact, ...]
    """Facts of the beginning."""
    influences: dict[str, tuple[str, ...]]
    """Predicates that each predicate's changes depend on; `""` holds those that conditions read."""


def ground(domain: str, problem: str) -> Grounding:
    """Return the grounding of a problem, from disk if it is there.

    A cache that cannot be read is worked out anew, and one that cannot be written is done without:
    it holds nothing that cannot be had again.

    Raises:
        ValueError: The problem cannot be solved.
        Exception, SystemExit: Whatever the translator raises on what is no PDDL.
    """
    release = version("fast-downward-textworld")
    key = hashlib.sha256("\0".join((str(_FORM), release, domain, problem)).encode()).hexdigest()
    path = cache_folder() / "groundings" / key[:2] / f"{key}.z"
    with contextlib.suppress(OSError, zlib.error, ValueError, KeyError, TypeError):
        return _read(json.loads(zlib.decompress(path.read_bytes())))
    grounding = translate(domain, problem)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, zlib.compress(json.dumps(asdict(grounding)).encode()))
    return grounding


def translate(domain: str, problem: str) -> Grounding:
    """Translate a problem; see `ground`."""
    # The translator reads its options out of sys.argv and overwrites it.
    arguments, sys.argv = sys.argv, ["translate.py", "domain", "task"]
    try:
        task, sas = cast(tuple[Any, str], fast_downward.pddl2sas(domain, problem))
    finally:
        sys.argv = arguments
    if _HOPELESS in sas:
        raise ValueError("the translator finds that no plan can win it")
    facts = (_fact(atom) for atom in task.init)
    return Grounding(
        sas=sas,
        types=tuple((kind.name, tuple(kind.supertype_names)) for kind in task.types),
        objects={thing.name: thing.type_name for thing in task.objects},
        parameters={
            action.name: tuple((p.name.strip("?"), p.type_name) for p in action.parameters)
            for action in task.actions
        },
        init=tuple(fact for fact in facts if fact is not None),
        influences=_influences(task),
    )


def _fact(atom: Any) -> Fact | None:
    """Return what TextWorld makes a fact of, or None."""
    if isinstance(atom, pddl.conditions.Atom):
        return None if atom.predicate == "=" else (atom.predicate, tuple(atom.args))
    if isinstance(atom, pddl.f_expression.Assign) and atom.fluent.symbol != "total-cost":
        value = str(atom.expression.value)
        # Numbers are distances.
        return None if value.isdigit() else (value, tuple(atom.fluent.args))
    return None


def _influences(task: Any) -> dict[str, tuple[str, ...]]:
    read = set(_predicates(task.goal))
    needs: dict[str, set[str]] = {}
    for action in task.actions:
        read.update(_predicates(action.precondition))
        for effect in action.effects:
            needs.setdefault(effect.literal.predicate, set()).update(_predicates(effect.condition))
    for axiom in task.axioms:
        read.update(_predicates(axiom.condition))
    needs[""] = read
    return {name: tuple(sorted(others)) for name, others in needs.items()}


def _predicates(condition: Any) -> Iterator[str]:
    if isinstance(condition, pddl.conditions.Literal):
        yield condition.predicate
    for part in condition.parts:
        yield from _predicates(part)


def _read(data: dict[str, Any]) -> Grounding:
    return Grounding(
        sas=data["sas"],
        types=tuple((name, tuple(above)) for name, above in data["types"]),
        objects=data["objects"],
        parameters={
            name: tuple((parameter, kind) for parameter, kind in parameters)
            for name, parameters in data["parameters"].items()
        },
        init=tuple((predicate, tuple(arguments)) for predicate, arguments in data["init"]),
        influences={name: tuple(others) for name, others in data["influences"].items()},
    )


def _write(path: Path, content: bytes) -> None:
    """Write a file that is never seen half written, whoever else writes it."""
    descriptor, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        Path(part).replace(path)
    finally:
        Path(part).unlink(missing_ok=True)
