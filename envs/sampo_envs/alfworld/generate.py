"""Games made up from what the alfworld package ships: its domain, its grammar and its constants.

A room of places and things, where ALFRED allows the things to lie; a chore of one of the six types
that can be done there; and a walkthrough by TextWorld's planner, which shows that it can be. What
is returned leaves domain and grammar to the installed package. `tools/make_alfworld_games.py`
writes such games; nothing here runs while games are played.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import alfworld.gen.constants as alfred
import alfworld.gen.goal_library as goals
import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
from textworld.envs import PddlEnv

from sampo_envs.alfworld.engine import translate
from sampo_envs.alfworld.games import TYPES, installed_texts

ROOMS: dict[str, dict[str, tuple[int, int]]] = {
    "Kitchen": {
        "CounterTop": (1, 3),
        "Cabinet": (3, 8),
        "Drawer": (2, 6),
        "Fridge": (1, 1),
        "Microwave": (1, 1),
        "SinkBasin": (1, 1),
        "StoveBurner": (2, 4),
        "DiningTable": (0, 1),
        "GarbageCan": (1, 1),
        "CoffeeMachine": (1, 1),
        "Toaster": (1, 1),
        "Shelf": (0, 3),
    },
    "Bedroom": {
        "Bed": (1, 1),
        "Desk": (1, 2),
        "Drawer": (2, 6),
        "Dresser": (1, 1),
        "Shelf": (1, 4),
        "SideTable": (1, 2),
        "GarbageCan": (1, 1),
        "Safe": (0, 1),
    },
    "LivingRoom": {
        "Sofa": (1, 1),
        "ArmChair": (1, 2),
        "CoffeeTable": (1, 1),
        "SideTable": (1, 2),
        "Drawer": (1, 4),
        "GarbageCan": (1, 1),
        "TVStand": (0, 1),
        "Shelf": (0, 3),
    },
    "Bathroom": {
        "BathtubBasin": (1, 1),
        "Cabinet": (2, 4),
        "CounterTop": (1, 1),
        "SinkBasin": (1, 1),
        "GarbageCan": (1, 1),
        "HandTowelHolder": (1, 1),
        "Toilet": (1, 1),
        "ToiletPaperHanger": (1, 1),
        "TowelHolder": (1, 1),
    },
}
"""Fewest and most places of each kind, by kind of room."""
_SCENES = {"Kitchen": 0, "LivingRoom": 200, "Bedroom": 300, "Bathroom": 400}
"""First scene number of each kind of room, as in ALFRED."""
_ONLY_IN = {
    "Look": ("Bedroom",),
    "Heat": ("Kitchen",),
    "Cool": ("Kitchen",),
    "Clean": ("Kitchen", "Bathroom"),
}
_ABLE = {"Clean": "Cleanable", "Heat": "Heatable", "Cool": "Coolable"}
_LAMP, _LAMP_PLACES = "DeskLamp", ("Desk", "SideTable", "Dresser")
_NO_GOAL = ("StoveBurner", "Toaster", "CoffeeMachine")
_NAMED_BY_DOMAIN = {"SinkBasin", "Microwave", "Fridge", "Sink"}
_KNIVES = {"ButterKnife", "Knife"}
_FACTS = {
    "cleanable": "Cleanable",
    "heatable": "Heatable",
    "coolable": "Coolable",
    "toggleable": "Toggleable",
    "sliceable": "Sliceable",
}
_CODES = {"|": "_bar_", "+": "_plus_", "-": "_minus_", ".": "_dot_"}


@dataclass
class Room:
    """Places and what lies there."""

    places: dict[str, str] = field(default_factory=dict)
    """Kind of each place."""
    things: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Kind and place of each thing."""


def make_games(kind: str, split: str, seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names and contents of games without end.

    Args:
        kind: The folder name of one of the six types, see `TYPES`.
        split: `train`, `valid_seen` or `valid_unseen`.
        seed: Other seeds make other games.
    """
    attempt = 0
    while True:
        rng = Random(f"{kind}/{split}/{seed}/{attempt}")
        attempt += 1
        made = _make(kind, rng)
        if made is None:
            continue
        name, game = made
        game["walkthrough"] = walkthrough(game)
        if game["walkthrough"]:
            yield f"{split}/{name}", game


def walkthrough(game: Mapping[str, Any]) -> list[str]:
    """Return the commands by which TextWorld's planner wins a game; none if it cannot."""
    domain, grammar = installed_texts()
    try:
        translate(domain, game["pddl_problem"])
    except ValueError:
        return []
    env = AlfredDemangler(
        PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True, policy_commands=True))
    )
    env.load({"pddl_domain": domain, "grammar": grammar, "pddl_problem": game["pddl_problem"]})
    state: Any = env.reset()
    plan = list(state["policy_commands"])
    for command in plan:
        state, _, _ = env.step(command)
    return plan if state["won"] else []


def _make(kind: str, rng: Random) -> tuple[str, dict[str, Any]] | None:
    """Return a game without its walkthrough, or None where the dice fell badly."""
    short = TYPES[kind]
    where = rng.choice(_ONLY_IN.get(short, tuple(ROOMS)))
    counts = {place: rng.randint(*span) for place, span in ROOMS[where].items()}
    counts = {place: count for place, count in counts.items() if count}
    kinds = _things_for(counts)
    wanted = [one for one in kinds if short not in _ABLE or _is(one, _ABLE[short])]
    thing = rng.choice(wanted)
    targets = sorted(p for p in counts if thing in _fits(p) and p not in _NO_GOAL)
    target = "" if short == "Look" else rng.choice([*targets, ""])
    sources = [place for place in counts if thing in _fits(place) and place != target]
    if not sources or (short != "Look" and not target):
        return None
    room = Room()
    for place, count in counts.items():
        for _ in range(count):
            stem = place.removesuffix("Basin")
            room.places[f"{stem}{_position(rng)}" + (f"|{place}" if stem != place else "")] = place
    for _ in range(rng.randint(2, 3) if short == "Pick2" else rng.randint(1, 2)):
        _put(room, thing, sources, rng)
    if short == "Look":
        _put(room, _LAMP, _LAMP_PLACES, rng)
    for _ in range(rng.randint(6, 14)):
        other = rng.choice([one for one in kinds if one != thing])
        _put(room, other, [place for place in counts if other in _fits(place)], rng)
    lamp = _LAMP if short == "Look" else ""
    trial = f"trial_T20000101_{rng.randrange(10**6):06}_{rng.randrange(10**6):06}"
    words = {"obj": thing, "recep": target, "toggle": lamp, "mrecep": ""}
    # ALFRED's goals have `#` for the hyphens of PDDL.
    goal = goals.gdict[kind]["pddl"].format(**words).replace("#", "-")
    sentence = rng.choice(goals.gdict[kind]["templates"])
    scene = _SCENES[where] + rng.randint(1, 30)
    game = {
        "pddl_problem": problem(trial, room, goal, rng),
        "solvable": True,
        "task": sentence.format(**{name: word.lower() for name, word in words.items()}),
    }
    return f"{kind}-{thing}-None-{target or lamp}-{scene}/{trial}", game


def problem(trial: str, room: Room, goal: str, rng: Random) -> str:
    """Return the PDDL of a room and a goal; it declares what the room has, and no more."""
    places, things = room.places, room.things
    place_kinds = (set(places.values()) & set(alfred.RECEPTACLES)) | _NAMED_BY_DOMAIN
    thing_kinds = ({kind for kind, _ in things.values()} | _KNIVES) - place_kinds
    spot = {
        place: f"loc|{rng.randint(-15, 15)}|{number}|0|45" for number, place in enumerate(places)
    }
    start = "loc|99|99|0|30"
    objects = ["agent1 - agent"]
    objects += [f"{kind}Type - otype" for kind in sorted(thing_kinds)]
    objects += [f"{kind}Type - rtype" for kind in sorted(place_kinds)]
    objects += [f"{_code(one)} - object" for one in things]
    objects += [f"{_code(one)} - receptacle" for one in places]
    objects += [f"{_code(one)} - location" for one in (*spot.values(), start)]
    facts = [f"atLocation agent1 {_code(start)}"]
    for place, kind in places.items():
        code = _code(place)
        facts += [
            f"receptacleType {code} {kind}Type",
            f"receptacleAtLocation {code} {_code(spot[place])}",
        ]
        facts += [f"openable {code}"] if kind in alfred.OPENABLE_CLASS_SET else []
    for kind in sorted(set(places.values())):
        fitting = sorted(_fits(kind) & thing_kinds)
        facts += [f"canContain {kind}Type {one}Type" for one in fitting]
    for thing, (kind, place) in things.items():
        code = _code(thing)
        facts += [f"objectType {code} {kind}Type", f"inReceptacle {code} {_code(place)}"]
        facts.append(f"objectAtLocation {code} {_code(spot[place])}")
        facts += [f"pickupable {code}"] if kind != _LAMP else []
        facts += [f"isReceptacleObject {code}"] if kind in alfred.MOVABLE_RECEPTACLES_SET else []
        facts += [f"{fact} {code}" for fact, able in _FACTS.items() if _is(kind, able)]
    declared = "\n".join(f"        {one}" for one in objects)
    begun = "\n".join(f"        ({one})" for one in facts)
    head = f"\n(define (problem plan_{trial})\n(:domain alfred)\n(:objects\n{declared}\n)\n"
    return f"{head}(:init\n{begun}\n)\n{goal}"


def _things_for(places: Mapping[str, int]) -> list[str]:
    """Return the kinds of things that can lie in these places and be carried."""
    able = set[str]().union(*(_fits(place) for place in places)) & set(alfred.OBJECTS_SET)
    return sorted(one for one in able if not one.endswith("Sliced") and one != _LAMP)


def _fits(place: str) -> set[str]:
    return set(alfred.VAL_RECEPTACLE_OBJECTS.get(place, ()))


def _is(thing: str, able: str) -> bool:
    return thing in alfred.VAL_ACTION_OBJECTS[able]


def _put(room: Room, thing: str, kinds: Any, rng: Random) -> None:
    choices = [place for place, kind in room.places.items() if kind in kinds]
    room.things[f"{thing}{_position(rng)}"] = (thing, rng.choice(choices))


def _position(rng: Random) -> str:
    return "".join(f"|{rng.uniform(-4, 4):+06.2f}" for _ in range(3))


def _code(name: str) -> str:
    """Return a name in the letters of PDDL, as ALFWorld writes it."""
    return "".join(_CODES.get(letter, letter) for letter in name)
