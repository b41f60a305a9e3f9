# pyright: strict
"""PPO's generalised advantage estimation, with a value head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from sampo.advantages.batch import (
    BatchAdvantage,
    BatchAdvantageInputs,
    BatchAdvantageOutput,
    Requirement,
    required,
    whitened,
)
from sampo.advantages.chains import chains, token_rewards
from sampo.advantages.whiten import check_discount
from sampo.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class GAE(BatchAdvantage):
    """Exponentially weighted temporal differences along the action tokens of a chain.

    With the reward `r_t` of each token (the first stage's number on a turn's last token, minus
    `kl_coef kl_t`) and the value `V_t` before it; `V = 0` after the chain's end::

        delta_t = r_t + gamma V_{t+1} - V_t
        A_t     = delta_t + gamma lam A_{t+1}            then whitened, with `whiten`
        returns = A_t + V_t                              the value head's targets, not whitened

    `chain="episode"` runs over the whole episode and wants `TurnReward` as first stage;
    `chain="turn"` takes every turn for itself and wants `TurnScore`, as the paper's code does.

    References:
        High-Dimensional Continuous Control Using Generalized Advantage Estimation,
        https://arxiv.org/abs/1506.02438
    """

    gamma: float = 1.0
    """Discount per token."""
    lam: float = 1.0
    """Weight of longer differences: 0 one step, 1 the whole return."""
    chain: Literal["turn", "episode"] = "episode"
    whiten: bool = True
    kl_coef: float = 0.0
    """Weight of the KL to the reference in the reward of each token; 0: none."""

    def __post_init__(self) -> None:
        """Refuse numbers that cannot work."""
        check_discount("GAE", self.gamma, self.kl_coef)
        if not 0.0 <= self.lam <= 1.0 or self.chain not in ("turn", "episode"):
            raise ConfigError(
                f"GAE: lam={self.lam} must lie in [0, 1] and chain={self.chain!r} must be turn or "
                "episode."
            )

    @property
    def requires(self) -> frozenset[Requirement]:
        """Which optional inputs must be given."""
        return frozenset({"values", "kl"} if self.kl_coef > 0.0 else {"values"})

    @torch.no_grad()
    def __call__(self, inputs: BatchAdvantageInputs) -> BatchAdvantageOutput:
        """Return advantages and value targets."""
        values = required(inputs.values, "values", "GAE")
        if self.kl_coef > 0.0:
            required(inputs.kl, "kl", "GAE")
        lined = chains(inputs, self.chain)
        rewards = token_rewards(inputs, lined, self.kl_coef)
        padded = lined.pad(values.to(torch.float64))
        advantages = torch.zeros_like(rewards)
        # Beyond a chain's end rewards and values are zero, so nothing flows in from the padding.
        ahead = rewards.new_zeros(rewards.shape[0])
        next_value = torch.zeros_like(ahead)
        for step in reversed(range(rewards.shape[1])):
            delta = rewards[:, step] + self.gamma * next_value - padded[:, step]
            ahead = delta + self.gamma * self.lam * ahead
            advantages[:, step] = ahead
            next_value = padded[:, step]
        tokens = lined.unpad(advantages, inputs.advantages)
        returns = lined.unpad(advantages + padded, inputs.advantages)
        if self.whiten:
            tokens = whitened(tokens, inputs.action_mask)
        return BatchAdvantageOutput(advantages=tokens, returns=returns)
