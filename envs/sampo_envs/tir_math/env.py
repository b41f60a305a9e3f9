"""Tool-integrated reasoning in mathematics: the environment."""

from __future__ import annotations

from dataclasses import dataclass

from sampo_envs.splits import TaskNames
from sampo_envs.tir_math.grading import MathGrader
from sampo_envs.tir_math.problems import GeneratedProblems, Problems
from sampo_envs.tir_math.python_tool import PythonTool
from sampo_envs.tools import Question, ResultText, Tool, ToolEnv, ToolPrompt


@dataclass(frozen=True, kw_only=True)
class PythonResult(ResultText):
    """The paper's words for what a program printed."""

    template: str = "Code execution result: {result}"


class TirMathEnv(ToolEnv):
    r"""Solve mathematical problems with a Python interpreter at hand.

    Description:
        The TIR-Math of the paper: reason, write a program, see what it prints, go on, answer. The
        problems are generated, or read from files (MATH, AIME).

    Actions:
        A block "```python ... ```" is run; `\boxed{...}` is the answer. A reply is read up to the
        end of its first block. One with neither is a void turn: it ends the episode, and
        `sampo.filtering.RejectVoidTurns` takes such episodes out of the loss.

    Observations:
        The problem; then `Code execution result: ...`, cut to 512 characters in the middle.

    Reward:
        1 where the answer means the same as the gold answer (math-verify), else 0.

    Episode end:
        Terminated by an answer, by a program that prints one (`final_answer(x)` does), or by a void
        turn; truncated after `max_turns` turns. A comparison of answers that fails or does not end
        is an error of the episode, not a reward of 0.

    State key:
        (task, digest of the programs run).

    Version history:
        1: first version.

    Args:
        problems: Where problems come from.
        tool: What the blocks are given to.
        grader: Who compares answers.
        max_turns: Most turns of an episode.
        prompt_format: How it is talked to.
        result_text: How results are shown.
    """

    def __init__(
        self,
        *,
        problems: Problems | None = None,
        tool: Tool | None = None,
        grader: MathGrader | None = None,
        max_turns: int = 5,
        prompt_format: ToolPrompt | None = None,
        result_text: ResultText | None = None,
    ) -> None:
        super().__init__(
            tool=tool or PythonTool(),
            max_turns=max_turns,
            prompt_format=prompt_format or ToolPrompt(),
            result_text=result_text or PythonResult(),
        )
        self.problems = problems or GeneratedProblems()
        self.grader = grader or MathGrader()

    def tasks(self, split: str) -> TaskNames:
        """Return the tasks `split/number` of `train`, `val` or `test`."""
        return self.problems.tasks(split)

    def question(self, task: str) -> Question:
        """Return the problem of a task."""
        return self.problems.find(task)

    def judge(self, question: Question, answer: str) -> bool:
        """Return whether an answer means the same as the gold answer."""
        return self.grader(question.answer, answer)
