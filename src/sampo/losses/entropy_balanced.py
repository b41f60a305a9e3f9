# pyright: strict
"""AEPO's entropy-balanced clip, and the standardised entropies that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from sampo.errors import ConfigError
from sampo.losses.surrogates import (
    Surrogate,
    SurrogateInputs,
    SurrogateOutput,
    check_clip_range,
    check_dual_clip,
    pessimistic,
)


@dataclass(frozen=True, kw_only=True)
class EntropyMoments:
    """Sums of token entropies that add up over shards of a mini-batch, to standardise with.

    Taken over the whole mini-batch before its first micro-batch, so that the split changes
    nothing; the paper's code takes them over each micro-batch.
    """

    total: Tensor
    """float64, 0-d: sum of the entropies."""
    square_total: Tensor
    """float64, 0-d: sum of their squares."""
    count: Tensor
    """float64, 0-d: number of tokens."""

    @classmethod
    def of(cls, entropy: Tensor, mask: Tensor) -> EntropyMoments:
        """Return the sums over the true entries of `mask` (both `[B, L]`)."""
        values = entropy.detach()[mask].to(torch.float64)
        return cls(
            total=values.sum(),
            square_total=values.square().sum(),
            count=mask.sum().to(torch.float64),
        )

    def __add__(self, other: EntropyMoments) -> EntropyMoments:
        """Combine with another shard."""
        return EntropyMoments(
            total=self.total + other.total,
            square_total=self.square_total + other.square_total,
            count=self.count + other.count,
        )

    def zscores(self, entropy: Tensor, mask: Tensor) -> Tensor:
        """Return `(H - mean) / (std + 1e-8)` with the unbiased std; zero off the mask."""
        count = self.count.clamp(min=1.0)
        mean = self.total / count
        variance = (self.square_total - count * mean.square()) / (count - 1.0).clamp(min=1.0)
        scores = (entropy.detach() - mean) / (variance.clamp(min=0.0).sqrt() + 1e-8)
        return torch.where(mask, scores, torch.zeros_like(scores)).to(entropy.dtype)


@dataclass(frozen=True, kw_only=True)
class EntropyBalanced(Surrogate):
    """AEPO: uncertain tokens count more, and the upper clip may keep a gradient.

    With the standardised entropy `z_t` of the token over the mini-batch (no gradient)::

        A'_t = A_t (1 + advantage_weight z_t)
        L_t  = max(-A' r, -A' clip(r, 1 - clip_low, 1 + clip_high))      then the dual clip
        above the range, tokens of the `gradient_above` half keep the gradient
        (1 + clip_high) grad log pi instead of none

    At ratio 1 the gradient is REINFORCE's with `A'`. The paper's code keeps the gradient of the
    low-entropy half, which is the opposite of the stated aim; both are offered.

    References:
        Agentic Entropy-Balanced Policy Optimization, https://arxiv.org/abs/2510.14545
    """

    clip_low: float = 0.2
    clip_high: float = 0.2
    dual_clip: float | None = 3.0
    """Largest ratio that a negative advantage is multiplied with; None: no bound."""
    advantage_weight: float = 0.2
    gradient_above: Literal["low_entropy", "high_entropy"] = "low_entropy"
    """Which tokens keep a gradient above the range: z <= 0 (the paper's code) or z > 0."""

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        check_clip_range("EntropyBalanced", self.clip_low, self.clip_high)
        check_dual_clip("EntropyBalanced", self.dual_clip)
        if not self.advantage_weight >= 0.0:
            raise ConfigError(
                f"EntropyBalanced: advantage_weight={self.advantage_weight} must be 0 or more."
            )
        if self.gradient_above not in ("low_entropy", "high_entropy"):
            raise ConfigError(
                f"EntropyBalanced: gradient_above is {self.gradient_above!r}; it must be "
                "low_entropy or high_entropy."
            )

    @property
    def needs_entropy(self) -> bool:
        """Whether `SurrogateInputs.entropy_zscores` must be given."""
        return True

    @property
    def clip_range(self) -> tuple[float, float]:
        """Least and largest ratio that count as in range in the metrics."""
        return 1.0 - self.clip_low, 1.0 + self.clip_high

    def __call__(self, inputs: SurrogateInputs) -> SurrogateOutput:
        """Return the loss of every token."""
        assert inputs.entropy_zscores is not None, "PolicyLoss checks needs_entropy"
        zscores = inputs.entropy_zscores.detach()
        log_weight = inputs.ratio(inputs.log_ratio, inputs.batch)
        ratio = log_weight.exp()
        high = 1.0 + self.clip_high
        # Value `high`; the exponent is zero and carries the gradient of log pi.
        carried = high * (log_weight - log_weight.detach()).exp()
        keeps = zscores > 0 if self.gradient_above == "high_entropy" else zscores <= 0
        bounded = ratio.clamp(1.0 - self.clip_low, high)
        bounded = torch.where(keeps & (ratio > high), carried, bounded)
        advantages = inputs.advantages * (1.0 + self.advantage_weight * zscores)
        return pessimistic(
            ratio, bounded, advantages, dual_clip=self.dual_clip, log_weight=log_weight
        )
