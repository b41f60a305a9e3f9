# pyright: strict
"""The KL to the reference in the reward, for estimators that compare the episodes of a group."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sampo.advantages.batch import (
    BatchAdvantage,
    BatchAdvantageInputs,
    BatchAdvantageOutput,
    Requirement,
    required,
)
from sampo.advantages.turns import Turns
from sampo.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class KLReward(BatchAdvantage):
    """Turns that moved away from the reference are worth less.

    With `K_i`, the sum of k1 over the action tokens of turn `i`, and its mean over all turns of
    the rollout::

        A'_i = A_i - kl_coef (K_i - mean K)

    It is subtracted after the group's normalisation, so that `kl_coef` means the same in groups of
    small and of large spread. `Whiten` and `GAE` have a `kl_coef` of their own, per token.
    """

    kl_coef: float = 0.001

    def __post_init__(self) -> None:
        """Refuse a weight that does nothing or rewards the distance."""
        if not self.kl_coef > 0.0:
            raise ConfigError(
                f"KLReward: kl_coef={self.kl_coef} must be above 0; to leave the KL out of the "
                "reward set model.batch_advantage to null."
            )

    @property
    def requires(self) -> frozenset[Requirement]:
        """Which optional inputs must be given."""
        return frozenset({"kl"})

    @torch.no_grad()
    def __call__(self, inputs: BatchAdvantageInputs) -> BatchAdvantageOutput:
        """Return the advantages with each turn's KL taken off."""
        mask = inputs.action_mask
        kl = required(inputs.kl, "kl", "KLReward")[mask]
        turns = Turns.of(inputs)
        if len(turns) == 0:
            return BatchAdvantageOutput(advantages=torch.zeros_like(inputs.advantages))
        total = turns.sum(kl)
        cost = self.kl_coef * (total - total.mean())
        advantages = inputs.advantages.clone()
        advantages[mask] -= cost[turns.number].to(advantages.dtype)
        return BatchAdvantageOutput(advantages=advantages)
