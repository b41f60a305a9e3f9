# pyright: strict
"""Dial 2, first half: the importance ratio and the level at which it is taken.

The surrogates of `surrogates.py` clip what this file gives them. The ratio of the current to the
rollout policy is taken per token (GRPO), per turn (GSPO and SAMPO in the paper, whose rows are
turns) or per episode.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sampo.errors import ConfigError
from sampo.losses.segments import HasSegments, Level, segments

TOKEN_CLAMP = 20.0
"""The paper's bound on a token's log-ratio, both sides."""
SEGMENT_CLAMP = 10.0
"""The paper's bound on a segment's log-ratio, from above only."""


@dataclass(frozen=True, kw_only=True)
class Ratio:
    r"""Log importance weight of every token, at the level of a token, a turn or an episode.

    With $\ell_t = \log\pi_\theta(y_t) - \log\pi_{old}(y_t)$ and `S` the segment of token `t`::

        token           log s_t = l_t
        turn, episode   log s_S = 1/|S| sum_{t in S} l_t     (the sum, without `length_normalise`)

    For a segment, the result is GSPO's carrier `l_t - sg(l_t) + sg(log s_S)` (`sg` stops the
    gradient): its value is `log s_S` on all tokens of the segment, and the gradient of its
    exponential is `s_S * grad log pi(y_t)` on each. Summed over the segment with weights
    `1/|S|` that is exactly `grad s_S`.

    `level="episode"` needs all rows of an episode in one micro-batch (`PolicyLoss.keep_together`).

    References:
        Group Sequence Policy Optimization, https://arxiv.org/abs/2507.18071
    """

    level: Level = "token"
    """Segment over which the ratio is taken."""
    length_normalise: bool = True
    """Geometric mean over the segment; False: the product. A product over hundreds of tokens
    leaves every clip range at once and is of use only for very short segments."""
    log_min: float | None = None
    """Lower bound of the log weight. None: the paper's, -20 for tokens and none for segments."""
    log_max: float | None = None
    """Upper bound of the log weight. None: the paper's, 20 for tokens and 10 for segments."""

    def __post_init__(self) -> None:
        """Refuse a level that does not exist and bounds that exclude a ratio of one."""
        if self.level not in ("token", "turn", "episode"):
            raise ConfigError(
                f"ratio.level is {self.level!r}; it must be one of token, turn, episode."
            )
        low, high = self.bounds
        if not low < 0.0 < high:
            raise ConfigError(
                f"ratio.log_min={low} and ratio.log_max={high} exclude the ratio 1 of an "
                "unchanged policy; set log_min < 0 < log_max, or leave them out."
            )

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of the log weight, the paper's where none are given."""
        token = self.level == "token"
        low = self.log_min if self.log_min is not None else (-TOKEN_CLAMP if token else -torch.inf)
        high = self.log_max if self.log_max is not None else TOKEN_CLAMP if token else SEGMENT_CLAMP
        return low, high

    def __call__(self, log_ratio: Tensor, batch: HasSegments) -> Tensor:
        """Return the log weights `[B, L]`, zero off the action mask.

        Args:
            log_ratio: `[B, L]`, current minus rollout log-probability, zero off the mask.
            batch: masks and ids of the same rows.
        """
        low, high = self.bounds
        if self.level == "token":
            return log_ratio.clamp(low, high)
        parts = segments(batch, self.level)
        values = log_ratio.detach()
        per_segment = parts.mean(values) if self.length_normalise else parts.sum(values)
        # Grouped so that the first bracket is exactly zero in value, whatever the magnitudes.
        carrier = (log_ratio - values) + parts.expand(per_segment)
        return carrier.clamp(low, high)
