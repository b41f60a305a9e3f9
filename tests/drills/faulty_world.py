"""A corridor that breaks in every way an environment can, a settled number of times.

Imported by workers, so without torch. Each fault is noted in a file before it happens, by one
letter, so that what was injected can be compared with what was counted.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from anything_goes import AnythingGoes
from sampo.envs import Corridor

KINDS = {
    "h": "hang",
    "c": "crash",
    "k": "kill",
    "g": "garbage",
    "b": "huge output",
    "t": "wrong type",
    "n": "number that is none",
    "e": "exception",
}
STEP_FAULTS = "hcegbtne" + "kegbtneg" + "cebtnegb"
"""In this order, over and over: losing a worker costs seconds, so few of them hang."""
RESET_FAULTS = "ceg" + "btn" * 2 + "kegb" + "te" * 3 + "gbtneb" * 6 + "h"


class FaultyCorridor(Corridor):
    """Breaks in a share of all calls, until it has broken often enough.

    Args:
        log: the file of letters; lower case for steps, upper case for resets.
        most: faults in all, over all copies.
        share: of the calls of `reset` and `step` that break.
    """

    def __init__(self, log: str, most: int = 1000, share: float = 0.08) -> None:
        super().__init__(length=4, max_turns=4, prompt_format=AnythingGoes())
        self.log = log
        self.most = most
        self.share = share

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Start an episode, or break."""
        kind = self._draw(RESET_FAULTS, str.upper)
        observation, info = super().reset(seed=seed, options=options)
        return _break(kind, (observation, info)) if kind else (observation, info)

    def step(self, action: str) -> Any:
        """Take a turn, or break."""
        kind = self._draw(STEP_FAULTS, str.lower)
        result = super().step(action)
        return _break(kind, result) if kind else result

    def _draw(self, schedule: str, case: Any) -> str:
        """Return the kind of fault that is due, noted; empty for none."""
        if random.SystemRandom().random() >= self.share:
            return ""
        done = Path(self.log).read_bytes() if Path(self.log).exists() else b""
        if len(done) >= self.most:
            return ""
        number = sum(chr(letter) == case(chr(letter)) for letter in done)
        kind = schedule[number % len(schedule)]
        with Path(self.log).open("ab") as file:
            file.write(case(kind).encode())
        return kind


def _break(kind: str, result: tuple[Any, ...]) -> Any:
    observation, rest = result[0], result[1:]
    if kind == "h":
        time.sleep(1000)
    elif kind == "c":
        os._exit(7)
    elif kind == "k":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "e":
        raise KeyError(f"no level\nfor {observation}")
    nonsense = {
        "g": lambda: None,
        "b": lambda: (observation * 1_000_000, *rest),
        "t": lambda: (observation.encode(), *rest),
        "n": lambda: _not_a_number(result),
    }
    return nonsense[kind]()


def _not_a_number(result: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a step with a reward, or a reset with a metric, that is not a number."""
    if len(result) == 2:
        return (result[0], {"metrics": {"length": float("nan")}})
    return (result[0], float("nan"), *result[2:])
