"""The numbers in Corridor's docstring, by hand and by brute force."""

from __future__ import annotations

from itertools import product

import pytest

from sampo.envs import Corridor, check_env
from sampo.errors import ConfigError


def play(env: Corridor, task: str, actions) -> list:
    env.reset(options={"task": task})
    steps = []
    for action in actions:
        steps.append(env.step(action))
        if steps[-1][2] or steps[-1][3]:
            break
    return steps


def test_keeps_the_contract():
    check_env(Corridor())


def test_one_episode_step_by_step():
    """Cells 0 1 2, door at 2. From 1: left to 0, against the wall, noise, right, right."""
    env = Corridor(length=3)
    observation, info = env.reset(options={"task": "1>2"})
    assert (observation, env.render()) == ("at 1 door 2", ".@D")
    assert info["admissible_actions"] == ["left", "right"]
    keys, rewards = [], []
    for action in ("left", "left", "fly", " RIGHT ", "right"):
        _, reward, terminated, truncated, info = env.step(action)
        keys.append(env.state_key())
        rewards.append(reward)
        assert not truncated and terminated == info["success"] == (env.state_key() == (2, 2))
    assert keys == [(0, 2), (0, 2), (0, 2), (1, 2), (2, 2)]
    assert rewards == [-0.1, -0.1, -0.1, -0.1, 0.9]


def test_the_optimum_is_reached_by_the_expert():
    env = Corridor(length=6)
    for split in ("train", "val", "test"):
        for task in env.tasks(split):
            start, door = map(int, task.split(">"))
            distance = abs(door - start)
            env.reset(options={"task": task})
            steps = [env.step(env.expert_action()) for _ in range(distance)]
            assert steps[-1][2]
            assert sum(step[1] for step in steps) == pytest.approx(1 - 0.1 * distance)


def test_the_random_walker_returns_what_the_docstring_says():
    """1>2, two turns: R ends at once (0.9), LL and LR do not arrive (-0.2): (0.9 - 0.2) / 2."""
    env = Corridor(length=3, max_turns=2)
    returns = [
        sum(step[1] for step in play(env, "1>2", actions))
        for actions in product(["left", "right"], repeat=2)
    ]
    assert sum(returns) / len(returns) == pytest.approx(0.35)


def test_the_turn_limit_truncates_and_arriving_on_the_last_turn_terminates():
    env = Corridor(length=3, max_turns=2)
    assert [step[2:4] for step in play(env, "1>2", ["left", "left"])] == [
        (False, False),
        (False, True),
    ]
    assert play(env, "0>2", ["right", "right"])[-1][2:4] == (True, False)


def test_splits_share_out_every_task():
    env = Corridor(length=4)
    # All six in order: 0>3 1>3 2>3 1>0 2>0 3>0.
    assert env.tasks("train") == ["0>3", "1>3", "2>0", "3>0"]
    assert env.tasks("val") == ["2>3"]
    assert env.tasks("test") == ["1>0"]


def test_mistakes_are_told():
    with pytest.raises(ConfigError, match="length=2"):
        Corridor(length=2)
    with pytest.raises(ConfigError, match="No task '3>3'"):
        Corridor(length=4).reset(options={"task": "3>3"})
    with pytest.raises(ConfigError, match="No split 'dev'"):
        Corridor().tasks("dev")
