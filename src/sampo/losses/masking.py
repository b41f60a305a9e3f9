# pyright: strict
"""Sequence masking: leave out sequences that the policy has moved away from and that were bad.

A modifier of any surrogate, not a surrogate: it decides which tokens count, before aggregation, so
that the denominators are exact. That needs the log-ratios of the whole mini-batch, hence one
forward pass without gradient before the first micro-batch of each optimiser step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from sampo.errors import ConfigError
from sampo.losses.segments import HasSegments, segments


@dataclass(frozen=True, kw_only=True)
class SequenceMask:
    """Reject a sequence if its advantage is negative and its ratio has become small.

    With the means over the action tokens of sequence `S`::

        reject S  iff  mean_S A < 0  and  mean_S (log pi_old - log pi_theta) > threshold

    i.e. if the geometric-mean ratio is below `exp(-threshold)`. Both inequalities are strict and
    the log-ratio is not clamped. The paper does not give its threshold: its code defaults to
    0.223 = -ln 0.8, its scripts use 3e-3, which is SAMPO's lower clip bound.

    References:
        ARLArena, https://arxiv.org/abs/2602.21534 (Table 1)
        DeepSeek-V3.2 (off-policy sequence masking), https://arxiv.org/abs/2512.02556
    """

    threshold: float = 0.223
    level: Literal["turn", "episode"] = "turn"
    """What a sequence is."""
    denominator: Literal["surviving", "all"] = "surviving"
    """Whether rejected sequences leave the denominators of the aggregation (the paper's code, save
    with sequence_mean_token_sum) or stay in them (the paper's text)."""

    def __post_init__(self) -> None:
        """Refuse a threshold that rejects unchanged sequences, and unknown names."""
        if not self.threshold >= 0.0:
            raise ConfigError(
                f"masking.threshold={self.threshold} would reject sequences that the policy has "
                "not moved away from; set it to 0 or more (-ln of the least ratio to keep)."
            )
        if self.level not in ("turn", "episode"):
            raise ConfigError(f"masking.level is {self.level!r}; it must be turn or episode.")
        if self.denominator not in ("surviving", "all"):
            raise ConfigError(
                f"masking.denominator is {self.denominator!r}; it must be surviving or all."
            )

    @torch.no_grad()
    def __call__(self, log_ratio: Tensor, advantages: Tensor, batch: HasSegments) -> Tensor:
        """Return bool `[B, L]`: the action tokens of the sequences that stay.

        Args:
            log_ratio: `[B, L]`, current minus rollout log-probability.
            advantages: `[B, L]`.
            batch: masks and ids of the same rows.
        """
        parts = segments(batch, self.level)
        rejected = (parts.mean(advantages) < 0) & (parts.mean(-log_ratio) > self.threshold)
        return batch.action_mask & ~parts.expand(rejected)
