"""Every law has an environment that breaks it, and a sentence that says so."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from sampo.envs import Corridor, TagPrompt, check_env
from sampo.errors import EnvFailure


@pytest.fixture
def broken(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    return import_module("broken_envs")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("SetOrder", "the same actions gave another admissible_actions in another process"),
        ("Unseeded", "the same actions gave another observation in a second copy"),
        (
            "SharedState",
            "the same actions gave another observation after another episode, or beside",
        ),
        ("Remembers", "the same actions gave another metrics after another episode"),
        ("ForgetsSettings", "the same actions gave another observation after pickling"),
        ("NeverEnds", "the episode goes on after max_turns=8 turns"),
        ("Raises", "unknown action"),
        ("IdentityKey", "does not equal itself after pickling; use tuples"),
        ("ExpertMoves", "the same actions gave another"),
        ("BadExpert", "expert_action() solved none of the tasks"),
        ("Overlap", "the task '0>4' of test is also one of train"),
        ("Shuffled", "tasks('train') has no fixed order"),
        ("NoTasks", "tasks('train') is empty"),
        ("NumberTasks", "tasks('train') holds 1, which is not a str"),
        ("NoFormat", "has no attribute 'prompt_format'; set it in __init__"),
        ("NoLimit", "max_turns is 0, which is not a positive int"),
        ("BadReward", "gymnasium's check"),
        ("Untrusting", "prompt_format reads 'left!', its own reply for the action 'left', as"),
        ("Unseedable", "gymnasium's check says: AssertionError"),
    ],
)
def test_a_broken_law_is_named(broken, name, sentence):
    env = vars(broken)[name]()
    random_walks = 8 if name == "NeverEnds" else 3
    with pytest.raises(EnvFailure, match=re.escape(sentence)) as caught:
        check_env(env, episodes=random_walks)
    assert str(caught.value).startswith(f"{name} breaks its contract: ")
    assert "\n" not in str(caught.value)


def test_what_is_not_a_text_env_is_told():
    with pytest.raises(EnvFailure, match=r"not a subclass of sampo\.envs\.TextEnv"):
        check_env(object())  # type: ignore[arg-type]


def test_an_environment_of_a_function_cannot_reach_a_worker():
    class Local(Corridor):
        pass

    with pytest.raises(EnvFailure, match="cannot be pickled"):
        check_env(Local())


def test_the_prototype_is_left_alone():
    env = Corridor(length=4, prompt_format=TagPrompt(think="required"))
    before = dict(vars(env))
    check_env(env, split="val", episodes=1, seed=5)
    assert vars(env) == before


def test_the_example_of_the_documentation_keeps_the_contract(tmp_path, monkeypatch):
    page = Path(__file__).parents[2] / "docs" / "add-an-environment.md"
    (example,) = re.findall(r"```python\n(.*?class Guess.*?)```", page.read_text(), flags=re.S)
    (tmp_path / "guess.py").write_text(example)
    monkeypatch.syspath_prepend(tmp_path)
    guess = import_module("guess")
    check_env(guess.Guess())
    env = guess.Guess()
    env.reset(options={"task": "7"})
    assert [env.step(action)[0] for action in ("5", "x", "9", "7")] == [
        "Higher.",
        "That is not a number from 1 to 9.",
        "Lower.",
        "Right!",
    ]
