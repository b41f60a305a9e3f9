"""The environment: laws, rewards, ends, state keys, tasks."""

import copy
import pickle
from random import Random
from typing import Any

import pytest

from sampo.envs import check_env
from sampo.errors import ConfigError, EnvFailure, MissingDataError
from sampo_envs.webshop import CompactPrompt, Shop, WebShopEnv


def buy(env: WebShopEnv, task: str) -> tuple[float, dict[str, Any], int]:
    """Return reward, info and turns of an episode by the expert."""
    _, info = env.reset(options={"task": task})
    for turn in range(1, env.max_turns + 1):
        _, reward, terminated, truncated, info = env.step(env.expert_action())
        assert reward == 0 or terminated
        if terminated or truncated:
            return reward, info, turn
    raise AssertionError("the episode did not end")


def test_keeps_the_contract() -> None:
    check_env(WebShopEnv())
    check_env(WebShopEnv(prompt_format=CompactPrompt()), split="test")


def test_keeps_the_contract_with_real_data(real_shop: Shop, real_data) -> None:
    check_env(WebShopEnv(data=str(real_data)))


def test_ten_for_exactly_what_was_asked_for() -> None:
    env = WebShopEnv()
    played = [buy(env, task) for task in env.tasks("val")]
    for reward, info, _ in played:
        success = info["metrics"]["task_score"] == 1.0
        assert (reward, info["success"]) == (10.0 if success else 0.0, success)
    assert sum(reward for reward, _, _ in played) > 9 * len(played)


def test_another_purchase_ends_the_episode_without_reward() -> None:
    env = WebShopEnv()
    env.reset(options={"task": "goal/3"})
    for action in ("search[tea]", "click[next >]"):
        assert env.step(action)[1:4] == (0.0, False, False)
    link = env.step("search[shampoo]")[4]["admissible_actions"][2]
    env.step(link)
    observation, reward, terminated, truncated, info = env.step("  CLICK[Buy Now]\n")
    assert observation.startswith("Thank you for shopping")
    assert (reward, terminated, truncated, info["success"]) == (0.0, True, False, False)
    assert 0 <= info["metrics"]["task_score"] < 1
    with pytest.raises(EnvFailure, match="ended"):
        env.step("search[tea]")


def test_the_limit_truncates() -> None:
    env = WebShopEnv(max_turns=2)
    env.reset()
    assert env.step("nonsense")[2:4] == (False, False)
    _, reward, terminated, truncated, info = env.step("click[nonsense]")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["metrics"]["task_score"] == 0.0


def test_a_purchase_on_the_last_turn_terminates() -> None:
    env = WebShopEnv()
    task = env.tasks("train")[0]
    _, _, turns = buy(env, task)
    _, info, _ = buy(WebShopEnv(max_turns=turns), task)
    assert info["success"]


def test_admissible_actions_are_what_the_page_offers() -> None:
    env = WebShopEnv()
    _, info = env.reset()
    assert info["admissible_actions"] == ["search[<your query>]"]
    info = env.step("search[tea]")[4]
    assert info["admissible_actions"][:2] == ["click[back to search]", "click[next >]"]
    assert len(info["admissible_actions"]) == 12


def test_state_keys_say_what_matters() -> None:
    env = WebShopEnv()
    env.reset(options={"task": "goal/5"})
    start = env.state_key()
    assert start == (5, "start", None, 0, None, ())
    env.step("search[tea]")
    assert env.state_key() == (5, "results", "tea", 1, None, ())
    env.step("click[back to search]")
    assert env.state_key() == start
    while env._visit.page != "item":
        env.step(env.expert_action())
    values = {name: options[0] for name, options in env._playing().product.options}
    first, second = list(values.items())[:2]
    keys = []
    for order in ((first, second), (second, first)):
        twin = copy.deepcopy(env)
        for _, value in order:
            twin.step(f"click[{value}]")
        keys.append(twin.state_key())
    assert keys[0] == keys[1]
    assert keys[0][-1] == tuple(sorted([first, second]))


def test_it_travels_in_the_middle_of_an_episode() -> None:
    env = WebShopEnv()
    env.reset(options={"task": "goal/1"})
    env.step("search[tea]")
    twin = pickle.loads(pickle.dumps(env))
    assert twin.step("click[next >]") == env.step("click[next >]")


def test_splits_are_disjoint_and_cover_everything() -> None:
    env = WebShopEnv()
    tasks = [list(env.tasks(split)) for split in ("train", "val", "test")]
    assert sum(map(len, tasks)) == len(set().union(*tasks)) == 1175


def test_the_papers_split_by_name() -> None:
    env = WebShopEnv(split="paper_shuffled")
    check_env(env)
    tasks = env.tasks("val")
    goals = set()
    for task in Random(0).sample(list(tasks), 20):
        env.reset(options={"task": task})
        goals.add(env.state_key()[0])
    assert len(goals) > 10
    assert len(env.tasks("test")) == 0


def test_human_goals(real_data) -> None:
    env = WebShopEnv(data=str(real_data), goals="human")
    tasks = [task for split in ("train", "val", "test") for task in env.tasks(split)]
    assert len(tasks) >= 10
    scores = [buy(env, task)[1]["metrics"]["task_score"] for task in tasks]
    assert sum(scores) / len(scores) > 0.9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"goals": "sinthetic"}, "Did you mean 'synthetic'"),
        ({"split": "paper"}, "paper_shuffled"),
        ({"max_turns": 0}, "max_turns is 0"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        WebShopEnv(**settings)


@pytest.mark.parametrize("task", ["goal/1175", "goal/-1", "goal", "train/1", "val/0/5", "goal/²"])
def test_tasks_that_are_not_there(task: str) -> None:
    with pytest.raises(ConfigError, match="there is no task"):
        WebShopEnv().reset(options={"task": task})


def test_missing_data_are_named_with_what_to_do() -> None:
    with pytest.raises(MissingDataError, match=r"/nowhere.*fetch"):
        WebShopEnv(data="/nowhere").tasks("train")


def test_nothing_happens_before_reset() -> None:
    with pytest.raises(EnvFailure, match="Call reset first"):
        WebShopEnv().step("search[tea]")


def test_render_is_the_page() -> None:
    env = WebShopEnv()
    env.reset(options={"task": "goal/0"})
    assert env.render().splitlines()[0] == "WebShop"
    assert env.render().splitlines()[-1] == "Search"
