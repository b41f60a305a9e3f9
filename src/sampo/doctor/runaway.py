"""Is an environment that hangs killed, and does the rollout go on?"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import ClassVar

from sampo.doctor.check import Check, CheckResult
from sampo.doctor.equal_starts import EqualStarts
from sampo.doctor.inputs import DoctorInputs
from sampo.doctor.runaway_env import Runaway
from sampo.doctor.worlds import first_replies
from sampo.envs.protocol import EnvFault
from sampo.rollout.workers import EnvPool


@dataclass(frozen=True, kw_only=True)
class RunawayKilled(Check):
    """A step that never returns is killed at its deadline, and a fresh worker takes over.

    Everything is the run's own (worker process, environment, deadline of a reset) but for the
    step, which hangs, and its deadline, which is short.
    """

    name: ClassVar[str] = "runaway"
    fix: ClassVar[str] = (
        "Set data.workers.num_workers to at least 1, on an operating system of POSIX."
    )
    needs: ClassVar[tuple[type[Check], ...]] = (EqualStarts,)
    deadline_s: float = 0.5
    grace_s: float = 2.0
    """Time that the kill may take."""

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Let one hang."""
        if not inputs.data.player.workers.num_workers:
            return self.skipped(
                "data.workers.num_workers is 0: environments run in this process, where a hang "
                "cannot be ended"
            )
        requests = inputs.requests(1)
        with EnvPool(
            Runaway(inputs.env),
            num_workers=1,
            step_timeout_s=self.deadline_s,
            reset_timeout_s=inputs.data.player.workers.reset_timeout_s,
        ) as pool:
            (before,) = first_replies(pool, requests)
            started = time.monotonic()
            pool.step(0, "")
            answers = pool.poll(self.deadline_s + self.grace_s)
            seconds = time.monotonic() - started
            if not answers or not isinstance(answers[0][1], EnvFault):
                return self.failed(f"a step that hangs was still running after {seconds:.1f} s")
            if _alive(int(before.metrics["pid"])):
                return self.failed("the worker of a step that hung is still alive")
            (after,) = first_replies(pool, requests)
            if after.observation != before.observation:
                return self.failed("the fresh worker shows another first observation")
        return self.ok(f"killed after {seconds:.2f} s (deadline {self.deadline_s:g} s), replaced")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
