# pyright: strict
"""CISPO's detached clip: a bounded weight, and a gradient for every token."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sampo.losses.surrogates import Surrogate, SurrogateInputs, SurrogateOutput, check_clip_range


@dataclass(frozen=True, kw_only=True)
class DetachedClip(Surrogate):
    """CISPO: REINFORCE, weighted with a clipped ratio that carries no gradient.

    ::

        L_t = -sg(clip(r_t, 1 - clip_low, 1 + clip_high)) A_t log pi(y_t)

    for every token and both signs of the advantage: no token loses its gradient. The default
    `clip_low=1` means no lower bound, as in the paper's Eq. S8. The loss *value* contains log pi
    and is not comparable with that of the other surrogates.

    References:
        MiniMax-M1: Scaling Test-Time Compute Efficiently with Lightning Attention,
        https://arxiv.org/abs/2506.13585
    """

    clip_low: float = 1.0
    clip_high: float = 0.2

    def __post_init__(self) -> None:
        """Refuse ranges that cannot work."""
        check_clip_range("DetachedClip", self.clip_low, self.clip_high)

    @property
    def clip_range(self) -> tuple[float, float]:
        """Least and largest ratio that count as in range in the metrics.

        Without a lower clip the range is symmetrical, so that the metrics see what nothing stops.
        """
        low = self.clip_low if self.clip_low < 1.0 else min(self.clip_high, 1.0)
        return 1.0 - low, 1.0 + self.clip_high

    def __call__(self, inputs: SurrogateInputs) -> SurrogateOutput:
        """Return the loss of every token."""
        log_weight = inputs.ratio(inputs.log_ratio.detach(), inputs.batch)
        ratio = log_weight.exp()
        bounded = ratio.clamp(1.0 - self.clip_low, 1.0 + self.clip_high)
        clipped = bounded != ratio
        return SurrogateOutput(
            loss=-bounded * inputs.advantages * inputs.logprobs,
            log_weight=log_weight,
            clipped=clipped,
            clipped_lower=torch.zeros_like(clipped),
        )
