# pyright: strict
"""Off-policy correction: what another distribution sampled, weighed as if this policy had.

An engine computes with other kernels, perhaps in another precision, perhaps with weights that are
one update older, perhaps from a truncated distribution. The ratio of the trainer's old
probabilities to those that were sampled from says by how much that matters, and corrects it. The
ratio of the surrogate goes on from the old policy to the present one, so the two never mix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from sampo.errors import ConfigError
from sampo.losses.segments import HasSegments, Level, segments

_KINDS = ("truncate", "mask", "reject")
_LEVELS = ("token", "turn", "episode")


@dataclass(frozen=True, kw_only=True)
class OffPolicyCorrection:
    r"""Weights of the surrogate for the mismatch between engine and trainer.

    With $m_t = \log \pi_{old}(y_t) - \log \pi_{sampling}(y_t)$, the trainer's minus the engine's,
    and the segment $S$ of `level` that the token lies in::

        w_S = exp( 1/|S| sum_S m_t )              (length_normalise: the geometric mean)

        truncate   min(w_S, upper)                    biased, bounded variance
        mask       w_S where lower <= w_S <= upper, else 0
        reject     1   where lower <= w_S <= upper, else 0

    A segment with a log-probability that is not finite weighs 0. What weighs 0 stays in the
    denominators of the aggregation, so that the others weigh what they would. KL term and entropy
    bonus are not touched.

    Whole episodes that are rejected (`mask` or `reject` at level `episode`) leave their group
    before its advantages are computed again: they move no baseline. A turn or a token that is
    rejected alone has been played all the same, so its episode's return still counts.

    References:
        Truncated importance sampling: Espeholt et al., IMPALA, https://arxiv.org/abs/1802.01561
        Ratios of tokens, masked: IcePop; of sequences, geometric: as GSPO's,
        https://arxiv.org/abs/2507.18071
    """

    kind: Literal["truncate", "mask", "reject"] = "truncate"
    level: Level = "episode"
    length_normalise: bool = True
    """Geometric mean over the segment. The product, without it, leaves every bound after some
    hundred tokens even where engine and trainer nearly agree."""
    upper: float = 2.0
    """Largest weight."""
    lower: float = 0.5
    """Least ratio that counts; not read by `truncate`."""

    def __post_init__(self) -> None:
        """Refuse bounds that leave out unchanged segments, and unknown names."""
        if self.kind not in _KINDS or self.level not in _LEVELS:
            raise ConfigError(
                f"loss.correction is kind {self.kind!r} at level {self.level!r}; the kinds are "
                f"{', '.join(_KINDS)}, the levels {', '.join(_LEVELS)}."
            )
        if not (0.0 <= self.lower <= 1.0 <= self.upper < math.inf):
            raise ConfigError(
                f"loss.correction.lower={self.lower} and upper={self.upper} must lie on either "
                "side of 1: an engine that agrees with the trainer gives a ratio of 1."
            )

    @property
    def rejects_episodes(self) -> bool:
        """Whether whole episodes may weigh 0 by their ratio."""
        return self.level == "episode" and self.kind != "truncate"

    @torch.no_grad()
    def __call__(self, log_mismatch: Tensor, batch: HasSegments) -> Tensor:
        """Return the weights, `[B, L]`, 0 off the action mask.

        Args:
            log_mismatch: `[B, L]`, recomputed minus the engine's log-probability.
            batch: masks and ids of the same rows; must hold segments whole.
        """
        parts = segments(batch, self.level)
        log_ratio = parts.mean(log_mismatch) if self.length_normalise else parts.sum(log_mismatch)
        ratio = log_ratio.exp()
        if self.kind == "truncate":
            weights = ratio.clamp(max=self.upper)
        else:
            inside = (ratio >= self.lower) & (ratio <= self.upper)
            weights = inside.to(ratio.dtype) if self.kind == "reject" else ratio * inside
        return parts.expand(torch.where(torch.isfinite(log_ratio), weights, 0.0))


def correction_metrics(weights: Tensor, mask: Tensor, upper: float) -> dict[str, float]:
    """Return what a correction did to a rollout.

    Args:
        weights: `[B, L]`, of `OffPolicyCorrection`.
        mask: bool `[B, L]`, the action tokens.
        upper: the largest weight there can be.

    Returns:
        `correction_mean`, the mean weight; `correction_rejected`, the share of tokens that weigh
        0; `correction_truncated`, the share at the upper bound.
    """
    values = weights[mask].double()
    if len(values) == 0:
        return {}
    return {
        "correction_mean": float(values.mean()),
        "correction_rejected": float((values == 0.0).double().mean()),
        "correction_truncated": float((values >= upper).double().mean()),
    }
