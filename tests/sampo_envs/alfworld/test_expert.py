"""The expert: the walkthrough, and the way back to it."""

from random import Random

import pytest

from sampo_envs.alfworld import AlfworldEnv, open_games, read_game
from sampo_envs.alfworld.expert import errands


def play(env: AlfworldEnv, task: str, noise: float, seed: int) -> tuple[bool, list[str]]:
    rng = Random(seed)
    _, info = env.reset(seed=seed, options={"task": task})
    said: list[str] = []
    while True:
        action = env.expert_action()
        if action is None or rng.random() < noise:
            action = rng.choice(info["admissible_actions"])
        said.append(action)
        _, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            return terminated, said


def test_undisturbed_it_is_the_walkthrough(one_of_each: list[str]) -> None:
    for task in one_of_each:
        game = read_game(open_games("generated"), task)
        assert play(AlfworldEnv(), task, 0.0, 0) == (True, list(game.walkthrough))


@pytest.mark.parametrize("noise", [0.3, 0.7])
def test_disturbed_it_finds_back(one_of_each: list[str], noise: float) -> None:
    """At 0.7, seven of ten commands are random; 200 turns leave 60 to an expert that needs 15."""
    env = AlfworldEnv(max_turns=200)
    for task in one_of_each:
        for seed in range(3):
            assert play(env, task, noise, seed)[0], (task, seed)


def test_what_a_walkthrough_does() -> None:
    walkthrough = ["go to a 1", "take mug 1 from a 1", "go to sink 1", "clean mug 1 with sink 1"]
    walkthrough += ["go to shelf 2", "move mug 1 to shelf 2"]
    (errand,) = errands(walkthrough)
    assert errand.treatments == [("isclean", "clean mug 1 with sink 1", "sink 1")]
    assert errand.put == ("move mug 1 to shelf 2", "shelf 2")
    lamp, book = errands(["go to desk 1", "use desklamp 1", "take book 1 from desk 1"])
    assert (lamp.used, book.used, book.put) == (True, False, None)


def test_the_hand_coded_one_searches_and_mostly_wins(one_of_each: list[str]) -> None:
    env = AlfworldEnv(expert="handcoded")
    results = [play(env, task, 0.0, 0) for task in one_of_each]
    assert sum(won for won, _ in results) >= 5
    assert [play(env, task, 0.0, 0) for task in one_of_each[:2]] == results[:2]
    walkthroughs = [read_game(open_games("generated"), task).walkthrough for task in one_of_each]
    assert sum(len(said) for _, said in results) > sum(map(len, walkthroughs))
