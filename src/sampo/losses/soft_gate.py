# pyright: strict
"""SAPO's soft gate: a smooth bound instead of a clip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from sampo.errors import ConfigError
from sampo.losses.segments import Level, segments
from sampo.losses.surrogates import Surrogate, SurrogateInputs, SurrogateOutput, check_clip_range


@dataclass(frozen=True, kw_only=True)
class SoftGate(Surrogate):
    r"""SAPO: the ratio passes through a sigmoid, of another steepness for bad sequences.

    ::

        L_t = -A_t f(r_t),   f(r) = (4 / tau) sigmoid(tau (r - 1))
        tau = tau_positive where the mean advantage of the sequence is > 0, else tau_negative

    `f'(1) = 1`, so that at ratio 1 the gradient is REINFORCE's; a token's gradient is weighted by
    `4 p (1 - p) r` with `p = sigmoid(tau (r - 1))`. Nothing is ever cut off, which the paper finds
    to collapse in long agent training; see `SequenceMask` for its cure.

    References:
        Soft Adaptive Policy Optimization, https://arxiv.org/abs/2511.20347
    """

    tau_positive: float = 1.0
    tau_negative: float = 1.05
    """Larger is steeper: gradients of bad sequences fade faster."""
    sequence: Literal["turn", "episode"] = "turn"
    """Over what the sign of the mean advantage is taken."""
    clip_low: float = 0.2
    """Only for the metric `clip_fraction`: tokens that a clip of this range would have stopped."""
    clip_high: float = 0.2
    """Only for the metric `clip_fraction`."""

    def __post_init__(self) -> None:
        """Refuse gates that do not close."""
        check_clip_range("SoftGate", self.clip_low, self.clip_high)
        if min(self.tau_positive, self.tau_negative) <= 0.0:
            raise ConfigError(
                f"SoftGate: tau_positive={self.tau_positive} and tau_negative={self.tau_negative} "
                "must be above 0 (the paper: 1.0 and 1.05)."
            )

    @property
    def level(self) -> Level:
        """Widest segment whose tokens the surrogate must see together."""
        return self.sequence

    @property
    def clip_range(self) -> tuple[float, float]:
        """Least and largest ratio that count as in range in the metrics."""
        return 1.0 - self.clip_low, 1.0 + self.clip_high

    def __call__(self, inputs: SurrogateInputs) -> SurrogateOutput:
        """Return the loss of every token."""
        log_weight = inputs.ratio(inputs.log_ratio, inputs.batch)
        ratio = log_weight.exp()
        parts = segments(inputs.batch, self.sequence)
        good = parts.expand(parts.mean(inputs.advantages) > 0)
        tau = torch.where(good, self.tau_positive, self.tau_negative).to(ratio.dtype)
        gate = (4.0 / tau) * torch.sigmoid(tau * (ratio - 1.0))
        outside = ((ratio > 1.0 + self.clip_high) & (inputs.advantages > 0)) | (
            (ratio < 1.0 - self.clip_low) & (inputs.advantages < 0)
        )
        return SurrogateOutput(
            loss=-inputs.advantages * gate,
            log_weight=log_weight.detach(),
            clipped=outside,
            clipped_lower=torch.zeros_like(outside),
        )
