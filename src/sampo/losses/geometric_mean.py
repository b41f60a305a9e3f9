# pyright: strict
"""GMPO's geometric mean: tokens are clipped, then averaged in log space."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from sampo.errors import ConfigError
from sampo.losses.segments import Level, segments
from sampo.losses.surrogates import Surrogate, SurrogateInputs, SurrogateOutput


@dataclass(frozen=True, kw_only=True)
class GeometricMean(Surrogate):
    """GMPO: the ratio of a sequence is the geometric mean of clipped token ratios.

    With token log-ratios `l_t`, the mean advantage `A` of the sequence `S`, and the bounds in log
    space::

        l'_t = min(l_t, clip_high)   where A_t > 0
        l'_t = max(l_t, -clip_low)   where A_t < 0
        l'_t = 0                     where A_t = 0
        L_t  = -A exp(mean_{u in S} l'_u)        with the gradient of l'_t on each token

    The sequence is the segment of the ratio, which must be a turn or an episode. With
    `sequence_mean_token_mean` this is the mean over sequences that the paper writes.

    References:
        Geometric-Mean Policy Optimization, https://arxiv.org/abs/2507.20673
    """

    clip_low: float = 0.4
    """A token's log-ratio is cut below `-clip_low`."""
    clip_high: float = 0.4
    """A token's log-ratio is cut above `clip_high`."""

    def __post_init__(self) -> None:
        """Refuse an empty range."""
        if self.clip_low < 0.0 or self.clip_high < 0.0:
            raise ConfigError(
                f"GeometricMean: clip_low={self.clip_low} and clip_high={self.clip_high} bound "
                "log-ratios around 0; set both to 0 or more."
            )

    @property
    def least_ratio_level(self) -> Level:
        """Narrowest level of the ratio that the surrogate makes sense with."""
        return "turn"

    @property
    def clip_range(self) -> tuple[float, float]:
        """Least and largest ratio that count as in range in the metrics."""
        return math.exp(-self.clip_low), math.exp(self.clip_high)

    def __call__(self, inputs: SurrogateInputs) -> SurrogateOutput:
        """Return the loss of every token."""
        inside = inputs.log_ratio.clamp(-self.clip_low, self.clip_high)
        held = torch.where(
            inputs.advantages > 0,
            torch.minimum(inputs.log_ratio, inside),
            torch.where(
                inputs.advantages < 0,
                torch.maximum(inputs.log_ratio, inside),
                torch.zeros_like(inside),
            ),
        )
        log_weight = inputs.ratio(held, inputs.batch)
        parts = segments(inputs.batch, inputs.ratio.level)
        advantages = parts.expand(parts.mean(inputs.advantages))
        outside = inside != inputs.log_ratio
        return SurrogateOutput(
            loss=-advantages * log_weight.exp(),
            log_weight=log_weight.detach(),
            in_range=inputs.log_ratio.detach(),
            clipped=outside & (inputs.advantages > 0),
            clipped_lower=outside & (inputs.advantages < 0),
        )
