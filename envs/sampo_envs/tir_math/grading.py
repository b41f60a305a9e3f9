"""Is this answer right? Asked of math-verify in a process that can be killed.

math-verify compares expressions by computer algebra, which may run for ever; its own time-outs
need the main thread's signals and count as "wrong" where they strike. Here a comparison that does
not end, or raises, is an error of the episode and never a verdict.
"""

from __future__ import annotations

import atexit
import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from sampo.errors import ConfigError, EnvFailure, MissingDependencyError
from sampo_envs.tir_math.sandbox.child import ChildFailure, LineChild

_WORKER = Path(__file__).with_name("grade_worker.py")
_START_S = 60.0


@dataclass(frozen=True, kw_only=True)
class MathGrader:
    r"""Compares answers as mathematics: `\frac12`, `0.5` and `1/2` are the same.

    One helper process per process serves all graders; it starts with the first question.

    References:
        https://github.com/huggingface/Math-Verify

    Raises:
        ConfigError: The time limit is not positive.

    Example:
        >>> MathGrader()(r"\frac{1}{2}", "0.5")  # doctest: +SKIP
        True
    """

    timeout_s: float = 20.0
    """Seconds that one comparison may take; the whole data set of MATH takes milliseconds each."""

    def __post_init__(self) -> None:
        """Refuse a limit that nothing can keep."""
        if self.timeout_s <= 0:
            raise ConfigError(f"MathGrader: timeout_s={self.timeout_s} must be positive.")

    def __call__(self, gold: str, answer: str) -> bool:
        r"""Return whether an answer means the same as the gold answer.

        Args:
            gold: LaTeX or plain text, without `\boxed`.
            answer: The same of what was answered. What cannot be read is wrong, unless it is the
                gold answer to the letter.

        Raises:
            EnvFailure: It cannot be told: the comparison did not end, or failed.
            MissingDependencyError: math-verify is not installed.
        """
        if gold.strip() == answer.strip():
            return True
        try:
            verdict = _worker().ask({"gold": gold, "answer": answer}, self.timeout_s)
        except ChildFailure as failure:
            raise EnvFailure(
                f"The answer {answer[:200]!r} could not be compared with {gold[:200]!r}: {failure}"
            ) from failure
        if "error" in verdict:
            raise EnvFailure(
                f"The answer {answer[:200]!r} could not be compared with {gold[:200]!r}: "
                f"{verdict['error']}"
            )
        return bool(verdict["equal"])


@lru_cache(maxsize=1)
def _worker() -> LineChild:
    if find_spec("math_verify") is None:
        raise MissingDependencyError(
            "Grading needs math-verify, which is not installed. Run pip install 'sampo[math]'."
        )
    command = [sys.executable, "-P", str(_WORKER)]
    worker = LineChild(command, start_timeout_s=_START_S, environ=os.environ)
    atexit.register(worker.close)
    return worker
