"""What a program's end looks like as text, with a sandbox that is scripted."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from sampo_envs.tir_math import PythonTool
from sampo_envs.tir_math.python_tool import FINAL_ANSWER
from sampo_envs.tir_math.sandbox import ProgramResult, Sandbox

TRACEBACK = "Traceback\n  File a\n    1\n    ~\n    2\nNameError: x\n"


@dataclass(frozen=True, kw_only=True)
class Scripted(Sandbox):
    result: ProgramResult | None = None

    def __call__(self, program: str, earlier: Sequence[str] = ()) -> ProgramResult:
        if self.result is not None:
            return self.result
        return ProgramResult(outcome="finished", stdout=repr((program, *earlier)), stderr="")


@pytest.mark.parametrize(
    ("result", "text", "failed", "lasting"),
    [
        (("finished", "1\n\n2\n", "a warning"), "1\n\n2", False, True),
        (("finished", "", ""), "", False, True),
        (("error", "so far\n", TRACEBACK), "so far\n    1\n    ~\n    2\nNameError: x", True, True),
        (("error", "", ""), "It exited with code 3.", True, True),
        (("timeout", "so far", ""), "so far\nStopped: it took too long.", True, False),
        (("output_limit", "xx", ""), "xx\nStopped: it printed too much.", True, False),
        (("killed", "", ""), "Stopped: it crashed the interpreter.", True, False),
    ],
)
def test_results_as_text(result: tuple, text: str, failed: bool, lasting: bool) -> None:
    outcome, stdout, stderr = result
    done = ProgramResult(outcome=outcome, stdout=stdout, stderr=stderr, exit_code=3)
    shown = PythonTool(sandbox=Scripted(result=done))("x", ())
    assert (shown.text, shown.failed, shown.lasting) == (text, failed, lasting)


def test_earlier_programs_are_run_again_only_where_state_is_kept() -> None:
    plain = PythonTool(sandbox=Scripted())
    assert plain("b", ("a",)).text == repr(("b", FINAL_ANSWER))
    assert PythonTool(sandbox=Scripted(), keep_state=True)("b", ("a",)).text == repr(
        ("b", FINAL_ANSWER, "a")
    )
    bare = PythonTool(sandbox=Scripted(), keep_state=True, prelude="")
    assert bare("b", ("a",)).text == repr(("b", "a"))
