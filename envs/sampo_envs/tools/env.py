"""The turns of an episode with a tool: call, see the result, go on, answer."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import gymnasium

from sampo.envs import TextEnv, task_of
from sampo.errors import ConfigError, EnvFailure
from sampo_envs.tools.prompt import ToolPrompt
from sampo_envs.tools.reading import first_block, last_boxed
from sampo_envs.tools.tool import ResultText, Tool, ToolResult


@dataclass(frozen=True, kw_only=True)
class Question:
    """One problem."""

    text: str
    answer: str
    """The gold answer."""
    kind: str = ""
    """Category for reports."""
    solution: str | None = None
    """A call whose result is the answer; what the expert does."""
    guess: str | None = None
    """What the expert answers at once, without a call, where it shall err."""


class ToolEnv(TextEnv):
    r"""Answer a question with the help of a tool.

    Subclasses say which questions there are (`tasks`, `question`) and when an answer is right
    (`judge`).

    Actions:
        A fenced block in one of the tool's languages is a call; `\boxed{...}` is the answer. Any
        other text is a void turn, and ends the episode.

    Observations:
        The question; then the result of each call.

    Reward:
        1 for the right answer, else 0.

    Episode end:
        Terminated by an answer, by a call that prints a box, and by a void turn; truncated after
        `max_turns` turns.

    State key:
        (task, digest of the calls made).

    Args:
        tool: What can be called.
        max_turns: Most turns of an episode.
        prompt_format: How it is talked to.
        result_text: How results are shown.

    Raises:
        ConfigError: There is no turn, or the prompt speaks of other languages than the tool.
    """

    def __init__(
        self, *, tool: Tool, max_turns: int, prompt_format: ToolPrompt, result_text: ResultText
    ) -> None:
        if max_turns < 1:
            raise ConfigError(f"{self._name}: max_turns is {max_turns}; it must be at least 1.")
        if unknown := set(prompt_format.languages) - set(tool.languages):
            raise ConfigError(
                f"{self._name}: the prompt reads blocks in {', '.join(sorted(unknown))}, but the "
                f"tool knows {', '.join(tool.languages)}. Set prompt_format.languages."
            )
        self.tool = tool
        self.max_turns = max_turns
        self.prompt_format: ToolPrompt = prompt_format
        self.result_text = result_text
        self._task = ""
        self._question: Question | None = None
        self._calls: list[str] = []
        self._made = ""
        self._counts = dict.fromkeys(("calls", "failed_calls", "void_turns"), 0)
        self._turn = 0
        self._over = True
        self._right = False

    @abstractmethod
    def question(self, task: str) -> Question:
        """Return the question of a task.

        Raises:
            ConfigError: There is no such task.
        """

    @abstractmethod
    def judge(self, question: Question, answer: str) -> bool:
        """Return whether an answer is right.

        Raises:
            EnvFailure: It cannot be told.
        """

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Ask the question of `options["task"]`; nothing is random, so `seed` changes nothing."""
        gymnasium.Env.reset(self, seed=seed)
        self._task = task_of(options, "") or self.tasks("train")[0]
        self._question = self.question(self._task)
        self._calls = []
        self._made = ""
        self._counts = dict.fromkeys(self._counts, 0)
        self._turn, self._over, self._right = 0, False, False
        return self._question.text, self._info(self._question)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Call the tool, or take the answer.

        Raises:
            EnvFailure: There is no episode, or it has ended, or tool or judge failed.
        """
        question = self._question
        if self._over or question is None:
            raise EnvFailure(f"{self._name}: there is no episode. Call reset before the next step.")
        self._turn += 1
        block = first_block(action, self.tool.languages)
        answer = last_boxed(action if block is None else action[: block.start])
        observation = ""
        if answer is None and block is not None:
            result = self._call(block.content)
            answer = last_boxed(result.text)
            observation = self.result_text(result)
        elif answer is None:
            self._counts["void_turns"] += 1
        if answer is not None:
            self._right = self.judge(question, answer)
        terminated = answer is not None or block is None
        truncated = not terminated and self._turn >= self.max_turns
        self._over = terminated or truncated
        return observation, float(self._right), terminated, truncated, self._info(question)

    def state_key(self) -> tuple[str, str]:
        """Return (task, digest of the calls made)."""
        return (self._task, self._made)

    def expert_action(self) -> str | None:
        """Return the call that solves the question and then the answer; or at once the guess."""
        question = self._question
        if self._over or question is None:
            return None
        if question.guess is not None:
            return f"\\boxed{{{question.guess}}}"
        if question.solution is not None and not self._counts["calls"]:
            return self.prompt_format.call(question.solution)
        return f"\\boxed{{{question.answer}}}"

    def _call(self, call: str) -> ToolResult:
        made = f"{self._made} {call}".encode(errors="surrogatepass")
        self._made = hashlib.sha256(made).hexdigest()[:16]
        result = self.tool(call, tuple(self._calls))
        self._counts["calls"] += 1
        self._counts["failed_calls"] += result.failed
        if result.lasting:
            self._calls.append(call)
        return result

    def _info(self, question: Question) -> dict[str, Any]:
        metrics = {name: float(count) for name, count in self._counts.items()}
        metrics["tool_used"] = float(self._counts["calls"] > 0)
        return {"success": self._right, "task_type": question.kind, "metrics": metrics}

    @property
    def _name(self) -> str:
        return type(self).__name__
