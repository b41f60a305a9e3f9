"""The turns of a tool environment, with a tool that needs no sandbox."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pytest

from sampo.envs import check_env
from sampo.errors import ConfigError, EnvFailure
from sampo_envs.tools import Question, ResultText, Tool, ToolEnv, ToolPrompt, ToolResult


@dataclass(frozen=True, kw_only=True)
class Shout(Tool):
    """Answers in capitals, with all earlier calls before; fails on `bad`, forgets `lost`."""

    languages: ClassVar[tuple[str, ...]] = ("say",)

    def __call__(self, call: str, earlier: Sequence[str]) -> ToolResult:
        text = " ".join([*earlier, call.upper()])
        return ToolResult(text=text, failed=call == "bad", lasting=call != "lost")


class Capitals(ToolEnv):
    """What is a word in capitals?"""

    def __init__(self, *, max_turns: int = 3, languages: tuple[str, ...] = ("say",)) -> None:
        super().__init__(
            tool=Shout(),
            max_turns=max_turns,
            prompt_format=ToolPrompt(languages=languages),
            result_text=ResultText(),
        )

    def tasks(self, split: str) -> list[str]:
        return {"train": ["ant", "bee"], "val": ["cat"], "test": ["dog"]}[split]

    def question(self, task: str) -> Question:
        return Question(text=f"{task}?", answer=task.upper(), kind="animal", solution=task)

    def judge(self, question: Question, answer: str) -> bool:
        return answer == question.answer


def call(text: str) -> str:
    return f"```say\n{text}\n```"


@pytest.fixture
def env() -> Capitals:
    made = Capitals()
    assert made.reset(options={"task": "bee"})[0] == "bee?"
    return made


def test_keeps_the_contract() -> None:
    check_env(Capitals())


def test_calls_then_the_right_answer(env: Capitals) -> None:
    assert env.step(call("x"))[:4] == ("Result: X", 0.0, False, False)
    assert env.step(call("y"))[0] == "Result: x Y"
    observation, reward, terminated, truncated, info = env.step(r"\boxed{BEE}")
    assert (observation, reward, terminated, truncated) == ("", 1.0, True, False)
    assert info["success"] and info["task_type"] == "animal"
    metrics = {"calls": 2.0, "failed_calls": 0.0, "void_turns": 0.0, "tool_used": 1.0}
    assert info["metrics"] == metrics


def test_a_wrong_answer_ends_without_reward(env: Capitals) -> None:
    _, reward, terminated, _, info = env.step(r"\boxed{ANT}")
    assert (reward, terminated, info["success"]) == (0.0, True, False)
    with pytest.raises(EnvFailure, match="Capitals: there is no episode"):
        env.step(r"\boxed{BEE}")


@pytest.mark.parametrize("action", ["", "no idea", "```say\nunfinished"])
def test_a_void_turn_ends_the_episode(env: Capitals, action: str) -> None:
    _, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated, info["success"]) == (0.0, True, False, False)
    assert info["metrics"]["void_turns"] == 1.0


def test_the_turn_limit_truncates(env: Capitals) -> None:
    assert [env.step(call("x"))[2:4] for _ in range(3)] == [(False, False)] * 2 + [(False, True)]


def test_an_answer_in_the_last_turn_terminates(env: Capitals) -> None:
    env.step(call("x"))
    env.step(call("x"))
    assert env.step(r"\boxed{BEE}")[1:4] == (1.0, True, False)


def test_a_call_that_prints_a_box_answers(env: Capitals) -> None:
    # The tool's capitals make it no box: \BOXED; an earlier call is repeated as it was.
    env.step(call(r"\boxed{BEE}"))
    observation, reward, terminated, _, _ = env.step(call("x"))
    assert observation == r"Result: \boxed{BEE} X" and (reward, terminated) == (1.0, True)


def test_calls_that_were_lost_are_forgotten_and_failures_counted(env: Capitals) -> None:
    env.step(call("lost"))
    observation, *_, info = env.step(call("bad"))
    assert observation == "Result: BAD"
    assert info["metrics"]["failed_calls"] == 1.0


def test_state_keys_tell_what_was_called(env: Capitals) -> None:
    keys = [env.state_key()]
    env.step(call("x"))
    keys.append(env.state_key())
    env.reset(options={"task": "bee"})
    assert env.state_key() == keys[0] != keys[1]
    env.step(call("y"))
    assert env.state_key() not in keys


def test_the_expert_calls_and_answers(env: Capitals) -> None:
    assert env.expert_action() == call("bee")
    env.step(call("bee"))
    assert env.expert_action() == r"\boxed{BEE}"
    env.step(r"\boxed{BEE}")
    assert env.expert_action() is None


def test_settings_that_cannot_work_are_refused() -> None:
    with pytest.raises(ConfigError, match="max_turns is 0"):
        Capitals(max_turns=0)
    with pytest.raises(ConfigError, match="reads blocks in sql, but the tool knows say"):
        Capitals(languages=("say", "sql"))
