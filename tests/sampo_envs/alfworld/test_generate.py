"""Generated games: of all types, solvable, the same again, and those that are shipped."""

from itertools import islice

import pytest

from sampo_envs.alfworld import AlfworldEnv, open_games, read_game
from sampo_envs.alfworld.games import SPLITS, TYPES
from sampo_envs.alfworld.generate import make_games, walkthrough


def test_they_are_made_and_solved() -> None:
    kind = "look_at_obj_in_light"
    (first,) = islice(make_games(kind, "train", 5), 1)
    (again,) = islice(make_games(kind, "train", 5), 1)
    (other,) = islice(make_games(kind, "train", 6), 1)
    assert first == again != other
    name, game = first
    assert name.startswith("train/look_at_obj_in_light-") and "-DeskLamp-3" in name
    assert set(game) == {"pddl_problem", "solvable", "task", "walkthrough"}
    assert any(one.startswith("use desklamp") for one in game["walkthrough"])


def test_what_cannot_be_won_has_no_walkthrough(one_of_each: list[str]) -> None:
    game = read_game(open_games("generated"), one_of_each[0])
    # Nothing can be picked up any more.
    lines = game.problem.splitlines()
    stuck = "\n".join(line for line in lines if not line.strip().startswith("(pickupable"))
    assert walkthrough({"pddl_problem": game.problem})
    assert walkthrough({"pddl_problem": stuck}) == []


@pytest.mark.slow
def test_every_shipped_game_is_won_by_its_walkthrough() -> None:
    env = AlfworldEnv()
    for split in SPLITS:
        for task in env.tasks(split):
            _, info = env.reset(options={"task": task})
            for command in read_game(open_games("generated"), task).walkthrough:
                assert not info["success"]
                _, _, _, _, info = env.step(command)
            assert info["success"], task


def test_the_shipped_games_are_evenly_of_all_types() -> None:
    splits = open_games("generated").splits
    for split, count in zip(SPLITS, (8, 4, 4), strict=True):
        kinds = [name.split("/")[1].partition("-")[0] for name in splits[split]]
        assert {kind: kinds.count(kind) for kind in TYPES} == dict.fromkeys(TYPES, count)
