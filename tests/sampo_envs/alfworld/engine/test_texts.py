"""Texts: symbols, lists, conditions, and expressions that are not run."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from textworld.logic import Placeholder, Variable

from sampo_envs.alfworld.engine.texts import Entity, Scene, derive, lookups

CUP, DESK = Variable("cup_1", "object"), Variable("desk_1", "receptacle")
THING, PLACE = Placeholder("o", "object"), Placeholder("r", "receptacle")


class Facts:
    """Finds the cup, as often as it is told to."""

    def __init__(self, times: int) -> None:
        self.times = times

    def all_assignments(self, rule: Any, mapping: Any) -> Iterator[Any]:
        return iter([{**mapping, THING: CUP}] * self.times)


def scene(times: int = 0, **rules: Any) -> Scene:
    entities = {
        "cup_1": Entity("cup_1", "object", "cup 1"),
        "desk_1": Entity("desk_1", "r", "desk 1"),
    }
    symbols = {"list_empty": "nothing", "list_separator": ", ", "list_last_separator": ", and "}
    made = {
        name: [
            SimpleNamespace(condition=condition, rhs=_parsed(text))
            for condition, text in (rule if isinstance(rule, list) else [("", rule)])
        ]
        for name, rule in {**symbols, **rules}.items()
    }
    return Scene(Facts(times), entities, made, {PLACE: DESK})


def _parsed(text: str) -> Any:
    from sampo_envs.alfworld.engine.texts import symbols

    return symbols(text)


def test_names_stand_for_things() -> None:
    assert derive("go to {r}", scene()) == "go to desk 1"
    assert derive("{r.indefinite + ' ' + r.name}", scene()) == "a desk 1"
    assert derive("{r.name or r.id}", scene()) == "desk 1"


@pytest.mark.parametrize(
    ("times", "text"), [(0, "nothing"), (1, "a cup 1"), (3, "a cup 1, a cup 1, and a cup 1")]
)
def test_lists(times: int, text: str) -> None:
    assert derive("[{o.indefinite + ' ' + o.name | on(o:object)}]", scene(times)) == text


def test_the_first_rule_whose_condition_holds() -> None:
    rules = [("on(o:object)", "There is a cup."), ("", "Nothing.")]
    assert derive("#look#", scene(1, look=rules)) == "There is a cup."
    assert derive("#look#", scene(0, look=rules)) == "Nothing."


def test_an_unknown_symbol_is_named() -> None:
    with pytest.raises(ValueError, match="#look#"):
        derive("#look#", scene())


@pytest.mark.parametrize("code", ["__import__('os').getpid()", "r.__class__", "1 + 1", "q.name"])
def test_expressions_are_read_and_not_run(code: str) -> None:
    with pytest.raises(ValueError, match="not allowed"):
        derive(f"{{{code}}}", scene())


def test_what_a_text_looks_up() -> None:
    found = lookups("go to [{r.name | at(r:receptacle, l:location)}]")
    assert found is not None
    assert (set(found.predicates), set(found.variables)) == ({"at"}, {"r", "l"})
    assert lookups("#look#") is None
