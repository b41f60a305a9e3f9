"""The environment: rewards turn by turn, the end, the laws, and the expert's way through."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampo.envs import check_env
from sampo.errors import ConfigError, EnvFailure, MissingDataError
from sampo_envs.sokoban import ACTIONS, CompactPrompt, SokobanEnv, SokobanPrompt, parse_level
from sampo_envs.sokoban.tasks import SEEDS, FileLevels


def play(env: SokobanEnv, actions: list[str]) -> list[tuple[float, bool, bool, bool]]:
    """Return (reward, terminated, truncated, success) of each turn."""
    turns = []
    for action in actions:
        _, reward, terminated, truncated, info = env.step(action)
        turns.append((round(reward, 6), terminated, truncated, info["success"]))
    return turns


@pytest.fixture
def start(tmp_path: Path):
    """Return a function that starts an episode on a level drawn by rows."""

    def start_on(*rows: str, **options: Any) -> SokobanEnv:
        path = tmp_path / "level.txt"
        path.write_text("\n".join(rows))
        env = SokobanEnv(levels=str(path), **options)
        (task,) = (task for split in SEEDS for task in FileLevels(str(path)).tasks(split))
        env.reset(options={"task": task})
        return env

    return start_on


def test_rewards_turn_by_turn(start):
    env = start("########", "#@ $.  #", "#   $. #", "#      #", "########")
    assert play(env, ["right", "up", "jump", "", "right", "right"]) == [
        (-0.1, False, False, False),  # a free step
        (-0.1, False, False, False),  # into the wall: legal, nothing happens
        (-0.1, False, False, False),  # not understood: a turn all the same
        (-0.1, False, False, False),
        (0.9, False, False, False),  # -0.1 + 1: the first box comes onto its target
        (-1.1, False, False, False),  # -0.1 - 1: and is pushed off it
    ]


def test_solving_the_last_box_pays_ten(start):
    env = start("########", "#@$.   #", "#@$.   #".replace("@", " "), "########")
    # 0.9 for the first box; around it: left, down; then -0.1 + 1 + 10 for the second.
    assert play(env, ["right", "left", "down", "right"]) == [
        (0.9, False, False, False),
        (-0.1, False, False, False),
        (-0.1, False, False, False),
        (10.9, True, False, True),
    ]


def test_from_target_to_target_pays_nothing(start):
    env = start("########", "#@*.$  #", "#   .  #".replace(".", " "), "########")
    # One box on a target, one not; two targets. The push moves the first box to the next target.
    assert play(env, ["right"]) == [(-0.1, False, False, False)]


def test_the_limit_truncates(start):
    env = start("######", "#@ $.#", "######", max_turns=2)
    assert play(env, ["left", "left"]) == [(-0.1, False, False, False), (-0.1, False, True, False)]


def test_solving_on_the_last_turn_terminates(start):
    env = start("######", "#@ $.#", "######", max_turns=2)
    assert play(env, ["right", "right"])[-1] == (10.9, True, False, True)


def test_invalid_actions_end_an_episode_too():
    env = SokobanEnv(max_turns=3)
    env.reset()
    assert play(env, ["x", "y", "z"])[-1] == (-0.1, False, True, False)


def test_capitals_and_white_space_are_ignored(start):
    env = start("######", "#@ $.#", "######")
    assert play(env, [" RIGHT\n", "Right"])[-1][3]


def test_info_tells_actions_success_and_boxes(start):
    env = start("#######", "#@$.$.#", "#######")
    _, _, _, _, info = env.step("right")
    # The first box was pushed onto its target; the second one stands where it stood.
    assert info == {
        "admissible_actions": ["up", "down", "left", "right"],
        "success": False,
        "metrics": {"boxes_on_target": 0.5},
    }


def test_steps_outside_of_an_episode_are_refused():
    env = SokobanEnv(max_turns=1)
    for call in (lambda: env.step("up"), env.state_key, env.expert_action, env.render):
        with pytest.raises(EnvFailure, match="Call reset"):
            call()
    env.reset()
    env.step("nothing")
    with pytest.raises(EnvFailure, match="has ended"):
        env.step("up")


def test_the_paper_setting_is_the_default():
    env = SokobanEnv()
    observation, _ = env.reset(options={"task": "val/65536"})
    assert env.max_turns == 15
    assert [len(row.split()) for row in observation.splitlines()] == [6] * 6
    assert observation.count("X") == 1


@pytest.mark.parametrize("rendering", ["grid", "coordinates", "relative"])
def test_check_env_passes(rendering: str):
    check_env(SokobanEnv(rendering=rendering))


def test_check_env_passes_on_files(tmp_path: Path):
    rooms = [f"#@$.{' ' * length}#" for length in range(4, 20)]
    text = "\n\n".join("\n".join(["#" * len(row), row, "#" * len(row)]) for row in rooms)
    (tmp_path / "corridors.txt").write_text(text)
    check_env(SokobanEnv(levels=str(tmp_path / "corridors.txt")))


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 999),
    first=st.lists(st.sampled_from([*ACTIONS, "x"]), max_size=6),
    second=st.lists(st.sampled_from([*ACTIONS, "x"]), max_size=6),
    after=st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=8),
)
def test_equal_state_keys_mean_equal_futures(seed, first, second, after):
    """Equal keys: the same observations and rewards from there on. Other keys: another look."""
    envs = []
    for actions in (first, second):
        env = SokobanEnv(max_turns=100)
        observation, _ = env.reset(options={"task": f"train/{seed}"})
        ended = False
        for action in actions:
            if not ended:
                observation, _, ended, _, _ = env.step(action)
        envs.append((env, observation, ended))
    (left, left_seen, left_ended), (right, right_seen, _) = envs
    assert (left.state_key() == right.state_key()) == (left_seen == right_seen)
    if left.state_key() == right.state_key() and not left_ended:
        for action in after:
            turn = left.step(action)
            assert turn == right.step(action)
            assert left.state_key() == right.state_key()
            if turn[2]:
                break


def test_keys_of_other_levels_differ():
    env = SokobanEnv()
    keys, looks = set(), set()
    for task in env.tasks("train")[:300]:
        observation, _ = env.reset(options={"task": task})
        keys.add(env.state_key())
        looks.add(observation)
    assert len(keys) == len(looks)


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_the_expert_solves_every_level(split: str):
    env = SokobanEnv(rendering="coordinates")
    for task in env.tasks(split)[:60]:
        _, info = env.reset(options={"task": task})
        truncated = False
        while not info["success"]:
            action = env.expert_action()
            assert action is not None and not truncated
            _, _, _, truncated, info = env.step(action)
        assert env.expert_action() is None


def test_the_expert_gives_up_where_all_is_lost(start):
    env = start("#####", "#$ .#", "# @ #", "#####")
    assert env.expert_action() is None


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_on_alike(copier):
    env = copier(SokobanEnv(boxes=2))
    env.reset(seed=3, options={"task": "train/11"})
    env.step(env.expert_action() or "up")
    copied = copier(env)
    assert copied.state_key() == env.state_key()
    for action in ("up", "left", "down", "right"):
        assert copied.expert_action() == env.expert_action()
        assert copied.step(action) == env.step(action)
        assert copied.state_key() == env.state_key()


def test_prompt_formats_follow_the_rendering():
    assert SokobanEnv().prompt_format == SokobanPrompt()
    assert SokobanEnv(rendering="relative").prompt_format == CompactPrompt()
    own = CompactPrompt(task="Push.")
    assert SokobanEnv(prompt_format=own).prompt_format is own


def test_render_as_text_and_as_picture(start):
    rows = ("#####", "#@$.#", "#####")
    assert start(*rows, rendering="coordinates").render() == start(*rows).render()
    picture = start(*rows, render_mode="rgb_array").render()
    assert isinstance(picture, np.ndarray) and picture.shape == (48, 80, 3)


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"max_turns": 0}, "max_turns is 0"),
        ({"rendering": "grids"}, "Did you mean 'grid'"),
        ({"render_mode": "rgb"}, "Did you mean 'rgb_array'"),
        ({"size": 99}, "size is 99"),
        ({"levels": "x.txt", "size": 7}, "Leave out either"),
    ],
)
def test_settings_that_cannot_work_are_named(settings_: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        SokobanEnv(**settings_)


def test_missing_level_files_are_named_when_needed(tmp_path: Path):
    env = SokobanEnv(levels=str(tmp_path / "nowhere"))
    with pytest.raises(MissingDataError, match="nowhere"):
        env.reset()


def test_the_drawn_level_is_the_played_one(start):
    env = start("#####", "#@$.#", "#####")
    board, state = parse_level(["#####", "#@$.#", "#####"])
    assert env.state_key() == (3, 5, board.walls, board.targets, state.boxes, state.player)
