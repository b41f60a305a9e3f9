"""One library for all games of a process."""

from sampo_envs.alfworld import open_games, read_game
from sampo_envs.alfworld.engine import ground
from sampo_envs.alfworld.engine.simulator import simulator


def test_states_hold_as_long_as_their_game_is_loaded(one_of_each: list[str]) -> None:
    games = [read_game(open_games("generated"), name) for name in one_of_each[:2]]
    first, second = (ground(one.domain, one.problem).sas.encode() for one in games)
    assert simulator() is simulator()
    loading = simulator().load(first)
    assert simulator().load(first) == loading
    simulator().go_to(0)
    going = next(one for one in simulator().operators() if one.name.startswith("gotolocation "))
    effects = simulator().apply(going)
    assert sorted(one.split("(")[0] for one in effects) == [
        "Atom atlocation",
        "NegatedAtom atlocation",
    ]
    there = simulator().state()
    assert there != 0
    atoms = simulator().atoms()
    simulator().go_to(0)
    assert simulator().atoms() != atoms
    simulator().go_to(there)
    assert simulator().atoms() == atoms
    assert simulator().load(second) != loading
    assert not simulator().is_goal()
