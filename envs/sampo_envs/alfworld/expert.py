"""An expert that follows the game's own walkthrough, and finds back to it from any state.

A walkthrough knows where things are; whoever is cloned on it learns where to look, not how to
search. Once an episode has left the walkthrough, what is left of it is read off the facts: which
of its objects still has to be fetched, treated or put somewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

_TAKE = re.compile(r"take (.+) from .+")
_PUT = re.compile(r"(?:move|put) (.+) (?:to|in/on) (.+)")
_TREAT = re.compile(r"(clean|heat|cool|slice) (.+) with (.+)")
_USE = re.compile(r"use (.+)")
_EFFECTS = {"clean": "isclean", "heat": "ishot", "cool": "iscool", "slice": "issliced"}


class World(Protocol):
    """What the expert sees of a game; see `sampo_envs.alfworld.engine.Play`."""

    commands: list[str]

    def facts(self, predicate: str) -> list[tuple[str, ...]]:
        """Return the facts of a predicate, things under the names that texts give them."""
        ...


@dataclass
class Errand:
    """What a walkthrough does with one object."""

    thing: str
    treatments: list[tuple[str, str, str]] = field(default_factory=list)
    """Fact that it leaves, command, and the place of it."""
    put: tuple[str, str] | None = None
    """Command and place; None for what is to be held."""
    used: bool = False
    """A lamp, which is switched on where it stands."""


def advise(walkthrough: Sequence[str], said: Sequence[str], world: World) -> str | None:
    """Return a good command.

    Args:
        walkthrough: Commands that win the game from its beginning.
        said: The commands so far.
        world: The present state.

    Returns:
        A command that is understood; None where the expert does not know one.
    """
    so_far = len(said)
    if so_far < len(walkthrough) and list(said) == list(walkthrough[:so_far]):
        return walkthrough[so_far]
    return _Guide(world).advise(errands(walkthrough))


def errands(walkthrough: Sequence[str]) -> list[Errand]:
    """Return what a walkthrough does, an errand for each object."""
    found: dict[str, Errand] = {}
    for command in walkthrough:
        if match := _TAKE.fullmatch(command):
            found.setdefault(match[1], Errand(match[1]))
        elif match := _TREAT.fullmatch(command):
            errand = found.setdefault(match[2], Errand(match[2]))
            errand.treatments.append((_EFFECTS[match[1]], command, match[3]))
        elif match := _PUT.fullmatch(command):
            found.setdefault(match[1], Errand(match[1])).put = (command, match[2])
        elif match := _USE.fullmatch(command):
            found.setdefault(match[1], Errand(match[1])).used = True
    return list(found.values())


class _Guide:
    """One look at the facts."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._commands = set(world.commands)
        self._held = [thing for _, thing in world.facts("holds")]
        self._places = _pairs(world, "inreceptacle")

    def advise(self, plan: list[Errand]) -> str | None:
        # What is in the hand comes first: there is but one.
        for errand in sorted(plan, key=lambda one: one.thing not in self._held):
            if not self._done(errand):
                return self._go_on(errand)
        lamp = next((one.thing for one in plan if one.used), None)
        return None if lamp is None else self._reach(self._places[lamp], f"use {lamp}")

    def _done(self, errand: Errand) -> bool:
        if errand.used:
            return (errand.thing,) in self._world.facts("istoggled")
        if any((errand.thing,) not in self._world.facts(fact) for fact, *_ in errand.treatments):
            return False
        if errand.put is None:
            return errand.thing in self._held
        return self._places.get(errand.thing) == errand.put[1]

    def _go_on(self, errand: Errand) -> str | None:
        if errand.used:
            return self._reach(self._places[errand.thing], f"use {errand.thing}")
        if errand.thing not in self._held:
            if self._held:
                return self._put_away(self._held[0])
            place = self._places[errand.thing]
            return self._reach(place, f"take {errand.thing} from {place}")
        for fact, command, place in errand.treatments:
            if (errand.thing,) not in self._world.facts(fact):
                return self._reach(place, command)
        return None if errand.put is None else self._reach(errand.put[1], errand.put[0])

    def _put_away(self, thing: str) -> str | None:
        """Empty the hand here, or else where the thing may lie."""
        beginnings = (f"move {thing} to ", f"put {thing} in/on ")
        for command in sorted(self._commands):
            if command.startswith(beginnings):
                return command
        kind = _pairs(self._world, "objecttype").get(thing)
        fitting = {place for place, what in self._world.facts("cancontain") if what == kind}
        kinds = self._world.facts("receptacletype")
        closed = {place for (place,) in self._world.facts("openable")}
        places = [place for place, sort in kinds if sort in fitting]
        if not places:
            return None
        return self._reach(min(places, key=lambda place: (place in closed, place)), "")

    def _reach(self, place: str, command: str) -> str | None:
        """Return the command if it can be given here, else what leads to where it can."""
        for choice in (command, f"open {place}", f"go to {place}", "look"):
            if choice in self._commands:
                return choice
        return None


def _pairs(world: World, predicate: str) -> dict[str, str]:
    """Return the facts of a predicate of two things, the second one by the first."""
    return {fact[0]: fact[1] for fact in world.facts(predicate)}
