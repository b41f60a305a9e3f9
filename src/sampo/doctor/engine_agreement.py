"""Does the engine sample from the policy that is trained?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sampo.doctor.check import Check, CheckResult
from sampo.doctor.episodes import EpisodesPlay
from sampo.doctor.gap import Gap, tolerance
from sampo.doctor.inputs import DoctorInputs


@dataclass(frozen=True, kw_only=True)
class EngineEqualsTrainer(Check):
    """The engine's log-probabilities of its replies are those that the trainer computes.

    They differ where the engine has other weights, another temperature, another numerical
    precision or other kernels; `train/sampling_kl` is the same number during a run.
    """

    name: ClassVar[str] = "engine = trainer"
    fix: ClassVar[str] = (
        "Give the engine the trainer's dtype, temperature and weights, and turn off what changes "
        "its logits (quantisation, penalties, a low-precision cache)."
    )
    needs: ClassVar[tuple[type[Check], ...]] = (EpisodesPlay,)

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Compare on the replies of the small rollout."""
        batch = inputs.small_rollout.batch
        recomputed = inputs.logprobs(inputs.policy, batch)
        gap = Gap.between(recomputed, batch.sampling_logprobs, batch.action_mask)
        limit = tolerance(inputs.dtype)
        detail = gap.describe(limit)
        return self.ok(detail) if gap.within(limit) else self.failed(detail)
