"""Python as a tool: programs run in a sandbox, and what they print comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from sampo_envs.tir_math.sandbox import LocalSandbox, ProgramResult, Sandbox
from sampo_envs.tools import Tool, ToolResult

FINAL_ANSWER = "def final_answer(x):\n    print('\\\\boxed{' + str(x) + '}')\n"
"""A function with which a program can give the answer itself, as in the paper's code."""

_ENDS = {
    "timeout": "Stopped: it took too long.",
    "output_limit": "Stopped: it printed too much.",
    "killed": "Stopped: it crashed the interpreter.",
}


@dataclass(frozen=True, kw_only=True)
class PythonTool(Tool):
    """Runs Python and returns its standard output, then the last lines of its traceback.

    Standard output is what counts: warnings on standard error are shown only where the program
    failed.
    """

    languages: ClassVar[tuple[str, ...]] = ("python", "py", "")

    sandbox: Sandbox = field(default_factory=LocalSandbox)
    keep_state: bool = False
    """Whether variables survive the turn: the programs of the turns before are run again first, in
    silence; those that were stopped are left out. Their time counts."""
    prelude: str = FINAL_ANSWER
    """Run before every program, in silence; "" for nothing."""
    error_lines: int = 4
    """Most lines of a traceback that are shown, the last ones."""

    def __call__(self, call: str, earlier: Sequence[str]) -> ToolResult:
        """Run a program."""
        before = [self.prelude] if self.prelude else []
        result = self.sandbox(call, [*before, *(earlier if self.keep_state else ())])
        return ToolResult(
            text=self._text(result),
            failed=result.outcome != "finished",
            lasting=result.outcome in ("finished", "error"),
        )

    def _text(self, result: ProgramResult) -> str:
        parts = [result.stdout.strip("\n")]
        if result.outcome == "error":
            lines = result.stderr.strip("\n").splitlines()
            parts += lines[-self.error_lines :] or [f"It exited with code {result.exit_code}."]
        elif result.outcome != "finished":
            parts.append(_ENDS[result.outcome])
        return "\n".join(part for part in parts if part)
