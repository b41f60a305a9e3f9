# pyright: strict
"""REINFORCE++: discounted returns per token, whitened over the whole batch."""

from __future__ import annotations

from dataclasses import dataclass

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
from sampo.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Whiten(BatchAdvantage):
    """Token returns within each turn, standardised over all action tokens of the batch.

    With the first stage's number `S` of the turn, on its last token `T`::

        r_t = S [t = T] - kl_coef kl_t
        R_t = sum_{u >= t} gamma^(u-t) r_u              over the turn's action tokens
        A_t = (R_t - mean R) / sqrt(var R + 1e-8)       over all action tokens

    After `TurnScore` this is REINFORCE++; after `GRPO(divide_by_std=False)` and with `gamma=1`
    it is REINFORCE++-baseline.

    References:
        REINFORCE++: Stabilizing Critic-Free Policy Optimization with Global Advantage
        Normalization, https://arxiv.org/abs/2501.03262
    """

    gamma: float = 1.0
    """Discount per token within a turn."""
    kl_coef: float = 0.0
    """Weight of the KL to the reference in the reward of each token; 0: none."""

    def __post_init__(self) -> None:
        """Refuse numbers that cannot work."""
        check_discount("Whiten", self.gamma, self.kl_coef)

    @property
    def requires(self) -> frozenset[Requirement]:
        """Which optional inputs must be given."""
        return frozenset({"kl"} if self.kl_coef > 0.0 else ())

    @torch.no_grad()
    def __call__(self, inputs: BatchAdvantageInputs) -> BatchAdvantageOutput:
        """Return the whitened token returns."""
        if self.kl_coef > 0.0:
            required(inputs.kl, "kl", "Whiten")
        lined = chains(inputs, "turn")
        rewards = token_rewards(inputs, lined, self.kl_coef)
        returns = torch.zeros_like(rewards)
        future = rewards.new_zeros(rewards.shape[0])
        for step in reversed(range(rewards.shape[1])):
            future = rewards[:, step] + self.gamma * future
            returns[:, step] = future
        tokens = lined.unpad(returns, inputs.advantages)
        return BatchAdvantageOutput(advantages=whitened(tokens, inputs.action_mask))


def check_discount(name: str, gamma: float, kl_coef: float) -> None:
    """Raise `ConfigError` for a discount outside of [0, 1] or a negative KL weight."""
    if not (0.0 <= gamma <= 1.0 and kl_coef >= 0.0):
        raise ConfigError(
            f"{name}: gamma={gamma} must lie in [0, 1] and kl_coef={kl_coef} must not be negative."
        )
