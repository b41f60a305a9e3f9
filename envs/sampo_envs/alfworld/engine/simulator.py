"""Fast Downward's library as one simulator for all games of a process.

The library keeps one game with its visited states in global variables, and TextWorld loads a copy
of it (34 MB on disk, 5 MB in memory) for every environment. Here one copy serves all: a game is
loaded when a state of it is asked for, in 1 to 5 ms, and states that were visited are numbered. An
episode's state is the sequence of its operators; its number is remembered as long as the game
stays loaded, and worked out again otherwise.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import fast_downward


class Operator(NamedTuple):
    """One thing that can be done in the present state."""

    number: int
    name: str
    """The action and its arguments, separated by spaces."""
    num_effects: int


class Simulator:
    """The one library of this process; see `simulator`. Not for several threads."""

    def __init__(self) -> None:
        self._library: Any = fast_downward.load_lib()
        self._loaded: bytes | None = None
        self._visit = 0
        self._names: dict[int, str] = {}

    def load(self, sas: bytes) -> int:
        """Make a game the loaded one.

        Returns:
            The number of this loading. State numbers hold as long as it stays the same.
        """
        if self._loaded is not sas:
            self._library.load_sas(sas)
            self._loaded, self._names = sas, {}
            self._visit += 1
        return self._visit

    def state(self) -> int:
        """Return the number of the present state."""
        return self._library.get_state_id()

    def go_to(self, state: int) -> None:
        """Make a state that was visited the present one; 0 is the beginning."""
        self._library.set_state_id(state)

    def operators(self) -> list[Operator]:
        """Return what can be done, in the library's order."""
        count = self._library.get_applicable_operators_count()
        found = (fast_downward.Operator * count)()
        self._library.get_applicable_operators(found)
        return [Operator(one.id, self._name(one), one.nb_effect_atoms) for one in found]

    def apply(self, operator: Operator) -> list[str]:
        """Do something, and return the names of its effects."""
        effects = (fast_downward.Atom * operator.num_effects)()
        self._library.apply_operator(operator.number, effects)
        return [effect.name for effect in effects]

    def atoms(self) -> list[str]:
        """Return the names of all variables' values in the present state."""
        values = (fast_downward.Atom * self._library.get_state_size())()
        self._library.get_state(values)
        return [value.name for value in values]

    def is_goal(self) -> bool:
        """Return whether the present state has what the problem asks for."""
        return self._library.check_goal()

    def _name(self, operator: Any) -> str:
        name = self._names.get(operator.id)
        if name is None:
            name = self._names[operator.id] = operator.name
        return name


@cache
def simulator() -> Simulator:
    """Return the simulator of this process, made at the first call."""
    return Simulator()
