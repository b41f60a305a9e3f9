"""Do the members of a group start alike, and stay alike for as long as they act alike?"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import ClassVar

from sampo.doctor.check import Check, CheckResult
from sampo.doctor.inputs import DoctorInputs
from sampo.doctor.worlds import replies
from sampo.envs.check import GARBAGE
from sampo.envs.protocol import EnvReply
from sampo.rollout.collector import EpisodeRequest
from sampo.rollout.workers import EnvPool

_COMPARED = ("observation", "state_key", "admissible_actions", "reward", "terminated", "truncated")


@dataclass(frozen=True, kw_only=True)
class EqualStarts(Check):
    """Two worker processes with the same task and seed show the same world.

    Everything relative to a group (advantages, anchors, filters) compares episodes that began in
    the same state. Runs under the deadlines of the run, so a hanging environment ends here.
    """

    name: ClassVar[str] = "equal starts"
    fix: ClassVar[str] = (
        "Call super().reset(seed=seed) and draw every random number from self.np_random; keep the "
        "order of sets and the process id out of it."
    )
    tasks: int = 3
    turns: int = 4
    """Turns that are compared after the first observation, garbage actions among them."""

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Play the tasks twice, side by side."""
        requests = inputs.requests(self.tasks)
        with inputs.pool(num_workers=2) as pool:
            for request in requests:
                if difference := self._difference(pool, request):
                    return self.failed(difference)
        where = "two processes" if inputs.data.player.workers.num_workers else "two copies"
        return self.ok(f"{len(requests)} tasks, {self.turns} turns each, the same in {where}")

    def _difference(self, pool: EnvPool, request: EpisodeRequest) -> str:
        """Return what two copies differ in, or an empty string."""
        rng = random.Random(request.sampling_seed)
        for slot in (0, 1):  # the pool puts consecutive slots into different processes
            pool.reset(slot, request.task, request.env_seed)
        for turn in range(self.turns + 1):
            answered = replies(pool)
            one, other = answered[0], answered[1]
            for name in _COMPARED:
                first, second = getattr(one, name), getattr(other, name)
                if first != second:
                    return (
                        f"task {request.task!r}, turn {turn}: {name} is {_short(first)} in one "
                        f"copy and {_short(second)} in the other"
                    )
            if one.over or turn == self.turns:
                break
            action = _action(one, rng)
            for slot in (0, 1):
                pool.step(slot, action)
        return ""


def _action(reply: EnvReply, rng: random.Random) -> str:
    if reply.admissible_actions and rng.random() < 0.7:
        return rng.choice(reply.admissible_actions)
    return rng.choice(GARBAGE)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
