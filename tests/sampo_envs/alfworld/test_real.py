"""The real games: walkthroughs that win, transcripts that repeat, memory that stays."""

import resource
from typing import Any

import pytest

from sampo.envs import check_env
from sampo_envs.alfworld import AlfworldEnv, open_games, read_game


def transcript(env: AlfworldEnv, task: str, commands: tuple[str, ...]) -> list[Any]:
    told: list[Any] = [env.reset(seed=0, options={"task": task}), env.state_key()]
    for command in commands:
        told += [env.step(command), env.state_key()]
    return told


def test_keeps_the_contract(real_data: str) -> None:
    check_env(AlfworldEnv(data=real_data, max_turns=15), episodes=2)


def test_fifty_games_are_won_by_their_walkthroughs_and_repeat(real_data: str) -> None:
    games = open_games(real_data)
    names = [*games.splits["train"][:25], *games.splits["valid_seen"][:25]]
    first, second = AlfworldEnv(data=real_data), AlfworldEnv(data=real_data)
    told = {}
    for name in names:
        told[name] = transcript(first, name, read_game(games, name).walkthrough)
        _, reward, terminated, _, info = told[name][-2]
        assert (reward, terminated, info["success"]) == (10.0, True, True), name
        assert not any(step[2] for step in told[name][2:-2:2])
    for name in reversed(names):
        assert transcript(second, name, read_game(games, name).walkthrough) == told[name]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_memory_stays_over_a_thousand_episodes(real_data: str) -> None:
    """40 games, more than a process keeps, 25 times each; after 400 it has all it needs."""
    env = AlfworldEnv(data=real_data, max_turns=10)
    tasks = list(env.tasks("val"))[:40]
    peaks = []
    for episode in range(1000):
        env.reset(seed=0, options={"task": tasks[episode % len(tasks)]})
        over = False
        while not over:
            _, _, terminated, truncated, _ = env.step(env.expert_action() or "look")
            over = terminated or truncated
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    # In kilobytes; a leak of 10 kB an episode would be 6,000.
    assert peaks[-1] - peaks[399] < 3000
