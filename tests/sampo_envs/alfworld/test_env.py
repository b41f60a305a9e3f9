"""The environment: laws, rewards, ends, state keys, tasks."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from alfworld_games import whole
from sampo.envs import check_env
from sampo.errors import ConfigError, EnvFailure, MissingDataError
from sampo_envs.alfworld import AlfworldEnv, CompactPrompt
from sampo_envs.alfworld.games import task_type

TYPES = {"Pick", "Look", "Clean", "Heat", "Cool", "Pick2"}


def play(env: AlfworldEnv, task: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the steps of an episode by the expert, and the last info."""
    observation, info = env.reset(seed=0, options={"task": task})
    steps: list[Any] = [observation]
    over = False
    while not over:
        step = env.step(env.expert_action() or "look")
        _, _, terminated, truncated, info = step
        steps.append(step)
        over = terminated or truncated
    return steps, info


def test_keeps_the_contract() -> None:
    check_env(AlfworldEnv(max_turns=12), episodes=2)


def test_keeps_the_contract_otherwise() -> None:
    env = AlfworldEnv(
        max_turns=25, prompt_format=CompactPrompt(), expert="handcoded", state_key="feedback"
    )
    check_env(env, split="test", episodes=2)


def test_ten_for_winning(one_of_each: list[str]) -> None:
    env = AlfworldEnv()
    types = set()
    for task in one_of_each:
        steps, info = play(env, task)
        assert [reward for _, reward, *_ in steps[1:]] == [0.0] * (len(steps) - 2) + [10.0]
        assert (steps[-1][2:4], info["success"]) == ((True, False), True)
        types.add(info["task_type"])
    assert types == TYPES
    with pytest.raises(EnvFailure, match="ended"):
        env.step("look")


def test_the_limit_truncates(one_of_each: list[str]) -> None:
    env = AlfworldEnv(max_turns=2)
    env.reset(options={"task": one_of_each[0]})
    assert env.step("sing")[:4] == ("Nothing happens.", 0.0, False, False)
    _, reward, terminated, truncated, info = env.step("go to nowhere 7")
    assert (reward, terminated, truncated, info["success"]) == (0.0, False, True, False)
    assert AlfworldEnv().max_turns == 50


def test_winning_on_the_last_turn_is_winning(one_of_each: list[str]) -> None:
    steps, _ = play(AlfworldEnv(), one_of_each[0])
    again, info = play(AlfworldEnv(max_turns=len(steps) - 1), one_of_each[0])
    assert info["success"] and again == steps


def test_help_works_but_is_not_offered(one_of_each: list[str]) -> None:
    env = AlfworldEnv()
    _, info = env.reset(options={"task": one_of_each[0]})
    assert "help" not in info["admissible_actions"]
    assert {"look", "inventory"} <= set(info["admissible_actions"])
    assert "Available commands" in env.step("help")[0]


def carry(env: AlfworldEnv, task: str) -> str:
    """Play the expert up to where something is put down, and return that command."""
    env.reset(options={"task": task})
    while not (action := env.expert_action() or "").startswith(("move ", "put ")):
        env.step(action)
    return action


def test_both_grammars_of_the_verb(one_of_each: list[str], tmp_path: Path) -> None:
    env = AlfworldEnv()
    task = next(name for name in one_of_each if "pick_and_place_simple" in name)
    command = carry(env, task)
    assert command.startswith("move ")
    old = command.replace("move ", "put ").replace(" to ", " in/on ")
    parsed = env.prompt_format.parse(
        f"<think>so</think><action>{old.upper()}</action>",
        env._info(env._playing())["admissible_actions"],
    )
    assert (parsed.action, parsed.valid) == (command, True)
    assert env.step(f"  {old.upper()} ")[2]

    # A game of ALFWorld < 0.4 knows the old form only.
    game = whole(task)
    assert game["grammar"].count("move {o} to {r}") > 0
    game["grammar"] = game["grammar"].replace("move {o} to {r}", "put {o} in/on {r}")
    game["walkthrough"] = [
        one.replace("move ", "put ").replace(" to ", " in/on ") if one.startswith("move ") else one
        for one in game["walkthrough"]
    ]
    path = tmp_path / task / "game.tw-pddl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(game))
    for expert in ("walkthrough", "handcoded"):
        assert play(AlfworldEnv(data=str(tmp_path), expert=expert), task)[1]["success"]
    older = AlfworldEnv(data=str(tmp_path))
    assert carry(older, task) == old
    assert older.step(command)[2]


def test_the_default_key_keeps_states_apart_in_which_nothing_happened(one_of_each) -> None:
    ours, papers = AlfworldEnv(), AlfworldEnv(state_key="feedback")
    for env in (ours, papers):
        env.reset(options={"task": one_of_each[0]})
    keys: dict[str, list[Any]] = {"ours": [], "papers": []}
    places = [one for one in ours._playing().commands if one.startswith("go to ")]
    for place in places[:2]:
        for env, name in ((ours, "ours"), (papers, "papers")):
            env.step(place)
            env.step("dance")
            keys[name].append(env.state_key())
    assert keys["papers"] == ["Nothing happens."] * 2
    assert keys["ours"][0] != keys["ours"][1]
    assert keys["ours"][0][0] == one_of_each[0]


def test_members_of_a_group_start_alike_and_share_the_game(one_of_each: list[str]) -> None:
    envs = [AlfworldEnv() for _ in range(3)]
    first = [env.reset(seed=1, options={"task": one_of_each[1]}) for env in envs]
    assert first[0] == first[1] == first[2]
    assert len({env.state_key() for env in envs}) == 1
    assert len({id(env._playing()._board) for env in envs}) == 1


def test_tasks_are_fixed_disjoint_and_mixed() -> None:
    env = AlfworldEnv()
    tasks = {split: list(env.tasks(split)) for split in ("train", "val", "test")}
    assert {split: len(names) for split, names in tasks.items()} == {
        "train": 48,
        "val": 24,
        "test": 24,
    }
    assert len(set().union(*tasks.values())) == 96
    assert env.tasks("val") == env.tasks("valid_seen")
    for split, names in tasks.items():
        kinds = Counter(task_type(name) for name in names[:12])
        assert len(kinds) >= 4, split


def test_types_can_be_chosen() -> None:
    env = AlfworldEnv(task_types=["Heat", "Look"])
    assert len(env.tasks("train")) == 16
    assert all("heat" in name or "look" in name for name in env.tasks("train"))
    few = AlfworldEnv(num_train_games=5)
    assert few.tasks("train") == AlfworldEnv().tasks("train")[:5]
    assert few.tasks("val") == AlfworldEnv().tasks("val")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"expert": "handcode"}, "Did you mean 'handcoded'"),
        ({"state_key": "text"}, "state, feedback"),
        ({"task_types": ["Heating"]}, "Did you mean 'Heat'"),
        ({"max_turns": 0}, "max_turns is 0"),
        ({"num_train_games": 0}, "num_train_games is 0"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        AlfworldEnv(**settings)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    env = AlfworldEnv()
    with pytest.raises(ConfigError, match="no split of tasks"):
        env.tasks("dev")
    with pytest.raises(ConfigError, match="no game 'train/x/y'"):
        env.reset(options={"task": "train/x/y"})
    with pytest.raises(EnvFailure, match="no episode yet"):
        AlfworldEnv().step("look")
    with pytest.raises(MissingDataError, match=r"python -m sampo_envs\.alfworld\.fetch"):
        AlfworldEnv(data=str(tmp_path)).tasks("train")
