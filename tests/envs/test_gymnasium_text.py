"""Environments that were registered with gymnasium, played as text."""

from __future__ import annotations

import gymnasium
import pytest

from sampo.envs import AnyText, FrozenLakeText, GymnasiumTextEnv, check_env
from sampo.errors import ConfigError


class Echo(gymnasium.Env[str, str]):
    """A registered environment that speaks text by itself: says what it hears, three times."""

    observation_space = AnyText()
    action_space = AnyText()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.said = 0
        return f"speak {self.np_random.integers(1000)}", {}

    def step(self, action):
        self.said += 1
        return f"{self.said} {action}", 1, self.said == 3, False, {"success": self.said == 3}


@pytest.fixture
def echo():
    gymnasium.register("Echo-v0", lambda **_: Echo())
    yield "Echo-v0"
    del gymnasium.registry["Echo-v0"]


def test_a_text_environment_works_by_its_id_alone(echo):
    env = GymnasiumTextEnv(echo)
    first, _ = env.reset(options={"task": "7"})
    assert (first, env.state_key(), env.expert_action()) == ("speak 944", "speak 944", None)
    assert env.reset(seed=99, options={"task": "7"})[0] == first  # the task is the seed
    assert env.reset(options={"task": "8"})[0] != first
    assert env.step("a") == ("1 a", 1.0, False, False, {})[:4] + ({"success": False},)
    env.step("b")
    observation, _, terminated, truncated, info = env.step("c")
    assert (observation, terminated, truncated, info) == ("3 c", True, False, {"success": True})


def test_our_turn_limit_truncates(echo):
    env = GymnasiumTextEnv(echo, max_turns=2)
    env.reset()
    assert [env.step("a")[2:4] for _ in range(2)] == [(False, False), (False, True)]


def test_frozen_lake_keeps_the_contract_with_a_wrapper_by_path():
    check_env(
        GymnasiumTextEnv(
            "FrozenLake-v1",
            wrapper="sampo.envs.FrozenLakeText",
            env_kwargs={"is_slippery": False},
            max_turns=20,
        ),
        episodes=2,
    )


def test_slippery_ice_is_repeated_exactly():
    check_env(GymnasiumTextEnv("FrozenLake-v1", wrapper=FrozenLakeText, max_turns=20), episodes=2)


def test_tasks_are_seeds_and_splits_follow_each_other():
    env = GymnasiumTextEnv("FrozenLake-v1", num_train=3, num_val=2, num_test=1)
    assert [env.tasks(split) for split in ("train", "val", "test")] == [
        ["0", "1", "2"],
        ["3", "4"],
        ["5"],
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"env_id": "FrozenLake-v1"}, "does not have text in and out.*give it a `wrapper`"),
        ({"env_id": "FrosenLake-v1"}, "gymnasium cannot make 'FrosenLake-v1'.*FrozenLake"),
        ({"env_id": "FrozenLake-v1", "wrapper": "sampo.envs.Nothing"}, "No wrapper 'sampo.envs.N"),
        ({"env_id": "FrozenLake-v1", "wrapper": "no_such.Thing"}, "No module named 'no_such'"),
        ({"env_id": "FrozenLake-v1", "wrapper": "Thing"}, "`package.module.Name`"),
    ],
)
def test_mistakes_are_told(arguments, sentence):
    with pytest.raises(ConfigError, match=sentence):
        GymnasiumTextEnv(**arguments).reset()


def test_a_task_that_is_no_seed_is_told():
    with pytest.raises(ConfigError, match="seeds such as '7', not 'x'"):
        GymnasiumTextEnv("FrozenLake-v1").reset(options={"task": "x"})
    with pytest.raises(ConfigError, match="No split 'dev'"):
        GymnasiumTextEnv("FrozenLake-v1").tasks("dev")
