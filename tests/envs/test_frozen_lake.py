"""The 2x3 lake S F G / F H F, where the way is right, right."""

from __future__ import annotations

from sampo.envs import FrozenLakeText, GymnasiumTextEnv

MAP = ["SFG", "FHF"]


def lake(**kwargs) -> GymnasiumTextEnv:
    env = GymnasiumTextEnv(
        "FrozenLake-v1",
        env_kwargs={"desc": MAP, "is_slippery": False, **kwargs},
        wrapper=FrozenLakeText,
    )
    env.reset()
    return env


def test_words_move_the_walker_and_other_words_do_not():
    env = lake()
    seen = []
    for word in ("down", "fly", " LEFT ", "up", "right"):
        observation, reward, terminated, truncated, info = env.step(word)
        seen.append(observation)
        assert (reward, terminated, truncated, info["success"]) == (0.0, False, False, False)
    assert seen == ["SFG\n*HF", "SFG\n*HF", "SFG\n*HF", "*FG\nFHF", "S*G\nFHF"]
    assert env.state_key() == (("SFG", "FHF"), 1)


def test_the_goal_is_a_success_and_a_hole_is_not():
    env = lake()
    env.step("right")
    observation, reward, terminated, _, info = env.step("right")
    assert (observation, reward, terminated, info["success"]) == ("SF*\nFHF", 1.0, True, True)
    env.reset()
    env.step("right")
    _, reward, terminated, _, info = env.step("down")
    assert (reward, terminated, info["success"]) == (0.0, True, False)


def test_the_expert_takes_a_shortest_way():
    env = lake()
    env.step("down")
    way = []
    terminated = False
    while not terminated:
        way.append(env.expert_action())
        *_, terminated, _, info = env.step(way[-1])
    assert (way, info["success"]) == (["up", "right", "right"], True)
    assert env.expert_action() is None  # arrived
    assert lake(is_slippery=True).expert_action() is None
    assert lake(desc=["SHG", "HHF"]).expert_action() is None  # no way
