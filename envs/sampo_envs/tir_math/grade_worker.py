"""The program that compares answers: one JSON question a line, one JSON verdict a line.

Started by `sampo_envs.tir_math.grading.MathGrader`, by its path, never imported. It sets no
deadlines and catches no time-outs: a question that takes too long is its end.
"""

import json
import logging
import resource
import sys
from itertools import product
from typing import Any

from math_verify import parse, verify

MEMORY_BYTES = 4 * 2**30
"""Most address space; an expression that wants more is a failure, not the end of the machine."""


def main() -> None:
    """Answer until the input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    logging.getLogger("math_verify").setLevel(logging.ERROR)  # it warns of having no time-out
    answer({"ready": True})
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer({"equal": equal(question["gold"], question["answer"])})
        except Exception as error:  # noqa: BLE001 - whatever it was, it is told and not a verdict
            answer({"error": f"{type(error).__name__}: {error}"[:300]})


def answer(message: dict[str, object]) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def equal(gold: str, given: str) -> bool:
    """Return whether two LaTeX expressions mean the same.

    Raises:
        ValueError: The gold answer cannot be read, so that nothing could ever equal it.
        Exception: Whatever the comparison raised, where it found no equality before.
    """
    golds, answers = read(gold), read(given)
    if not golds:
        raise ValueError(f"the gold answer {gold!r} cannot be read")
    failure: Exception | None = None
    for pair in product(golds, answers):
        try:
            if verify(*pair, timeout_seconds=None, raise_on_error=True):
                return True
        except Exception as error:  # noqa: BLE001 - another reading may still agree
            failure = error
    if failure is not None:
        raise failure
    return False


def read(text: str) -> list[Any]:
    """Return the readings of an expression: as mathematics, and as plain text."""
    # 0 is no time-out, like `verify`'s None: ours is the parent's patience.
    return parse(f"\\boxed{{{text}}}", parsing_timeout=0, raise_on_error=True)


if __name__ == "__main__":
    main()
