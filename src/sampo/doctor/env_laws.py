"""Does the environment keep its contract?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sampo.doctor.check import Check, CheckResult
from sampo.doctor.equal_starts import EqualStarts
from sampo.doctor.inputs import DoctorInputs
from sampo.envs import check_env


@dataclass(frozen=True, kw_only=True)
class EnvLaws(Check):
    """`sampo.envs.check_env` finds nothing.

    It plays in this process, without deadlines; an environment that hangs is caught before, by
    `EqualStarts`.
    """

    name: ClassVar[str] = "environment laws"
    fix: ClassVar[str] = "Mend the environment; a test with sampo.envs.check_env shows when it is."
    needs: ClassVar[tuple[type[Check], ...]] = (EqualStarts,)
    episodes: int = 2

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Play a few short episodes."""
        check_env(inputs.env, episodes=self.episodes, seed=inputs.data.player.seed)
        return self.ok(f"{type(inputs.env).__name__} passes check_env")
