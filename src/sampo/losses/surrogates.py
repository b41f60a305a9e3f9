# pyright: strict
"""Dial 2, second half: what is done with an importance ratio far from one.

A surrogate turns ratios and advantages into a loss per token (to be minimised). It does not know
how the ratio was taken (`ratio.py`) nor how tokens are summed (`aggregation.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from sampo.errors import ConfigError
from sampo.losses.ratio import Ratio
from sampo.losses.segments import HasSegments, Level


@dataclass(frozen=True, kw_only=True)
class SurrogateInputs:
    """What a surrogate may see of a micro-batch; all tensors `[B, L]`, zero off the mask."""

    logprobs: Tensor
    """Current log-probabilities, with gradient."""
    log_ratio: Tensor
    """Current minus rollout log-probability of each token, with gradient, not clamped."""
    ratio: Ratio
    """From token log-ratios to log weights at its level: `ratio(log_ratio, batch)`."""
    advantages: Tensor
    batch: HasSegments
    """Masks and ids of the rows."""
    entropy_zscores: Tensor | None = None
    """Standardised token entropies, without gradient; only for surrogates that ask for them."""


@dataclass(frozen=True, kw_only=True)
class SurrogateOutput:
    """Loss per token and what the surrogate did to it; all `[B, L]`."""

    loss: Tensor
    """To be minimised, with gradient; anything off the mask is ignored."""
    log_weight: Tensor
    """The log importance weights that were used, without gradient."""
    clipped: Tensor
    """bool, tokens that the main bound acted on."""
    clipped_lower: Tensor
    """bool, tokens that the second bound of a dual clip acted on."""
    in_range: Tensor | None = None
    """Log-ratios that `Surrogate.clip_range` speaks of, without gradient; None: `log_weight`."""


class Surrogate(ABC):
    """Policy-gradient loss of every token, from its ratio and advantage.

    Laws, checked by a shared test: at ratio 1 the gradient is REINFORCE's, `-A grad log pi`
    (unless the surrogate says that it reshapes the advantage); finite for any log-ratio.
    """

    @property
    def level(self) -> Level:
        """Widest segment whose tokens the surrogate must see together."""
        return "token"

    @property
    def least_ratio_level(self) -> Level:
        """Narrowest level of the ratio that the surrogate makes sense with."""
        return "token"

    @property
    def needs_entropy(self) -> bool:
        """Whether `SurrogateInputs.entropy_zscores` must be given."""
        return False

    @property
    def clip_range(self) -> tuple[float, float] | None:
        """Least and largest ratio that count as in range in the metrics; None: no such range."""
        return None

    @abstractmethod
    def __call__(self, inputs: SurrogateInputs) -> SurrogateOutput:
        """Return the loss of every token."""


def check_clip_range(name: str, clip_low: float, clip_high: float) -> None:
    """Raise `ConfigError` for a clip range that is empty or turns the ratio negative."""
    if not (0.0 <= clip_low <= 1.0 and clip_high >= 0.0):
        raise ConfigError(
            f"{name}: clip_low={clip_low} and clip_high={clip_high} give the ratio range "
            f"[{1 - clip_low}, {1 + clip_high}]; set 0 <= clip_low <= 1 and clip_high >= 0."
        )


@dataclass(frozen=True, kw_only=True)
class Clip(Surrogate):
    """PPO's clipped surrogate with separate bounds, and optionally a dual clip.

    ::

        L_t = max(-A r, -A clip(r, 1 - clip_low, 1 + clip_high))
        L_t = min(L_t, -A dual_clip)                                where A < 0, with `dual_clip`

    With a ratio at turn level this is GSPO's and SAMPO's clip (3e-3 and 4e-3, no dual clip); with
    a token ratio GRPO's (0.2 and 0.2, dual clip 3) and DAPO's clip-higher (0.2 and 0.28).

    References:
        Proximal Policy Optimization Algorithms, https://arxiv.org/abs/1707.06347
        Mastering Complex Control in MOBA Games with Deep Reinforcement Learning (dual clip),
        https://arxiv.org/abs/1912.09729
    """

    clip_low: float = 0.2
    """The ratio is cut below `1 - clip_low`."""
    clip_high: float = 0.2
    """The ratio is cut above `1 + clip_high`."""
    dual_clip: float | None = None
    """Largest ratio that a negative advantage is multiplied with; above 1. None: no bound."""

    def __post_init__(self) -> None:
        """Refuse ranges that cannot work."""
        check_clip_range("Clip", self.clip_low, self.clip_high)
        check_dual_clip("Clip", self.dual_clip)

    @property
    def clip_range(self) -> tuple[float, float]:
        """Least and largest ratio that count as in range in the metrics."""
        return 1.0 - self.clip_low, 1.0 + self.clip_high

    def __call__(self, inputs: SurrogateInputs) -> SurrogateOutput:
        """Return the loss of every token."""
        log_weight = inputs.ratio(inputs.log_ratio, inputs.batch)
        ratio = log_weight.exp()
        bounded = ratio.clamp(1.0 - self.clip_low, 1.0 + self.clip_high)
        return pessimistic(
            ratio, bounded, inputs.advantages, dual_clip=self.dual_clip, log_weight=log_weight
        )


def pessimistic(
    ratio: Tensor,
    bounded: Tensor,
    advantages: Tensor,
    *,
    dual_clip: float | None,
    log_weight: Tensor,
) -> SurrogateOutput:
    """Return PPO's larger of two losses, and the dual clip's bound on it.

    Args:
        ratio: `[B, L]`, importance ratios with gradient.
        bounded: the same, clipped in some way.
        advantages: `[B, L]`.
        dual_clip: largest ratio for negative advantages, or None.
        log_weight: logarithm of `ratio`, only reported.
    """
    free, held = -advantages * ratio, -advantages * bounded
    loss = torch.maximum(free, held)
    lower = torch.zeros_like(loss, dtype=torch.bool)
    if dual_clip is not None:
        bound = -advantages * dual_clip
        negative = advantages < 0
        lower = negative & (loss > bound)
        loss = torch.where(negative, torch.minimum(loss, bound), loss)
    return SurrogateOutput(
        loss=loss, log_weight=log_weight.detach(), clipped=held > free, clipped_lower=lower
    )


def check_dual_clip(name: str, dual_clip: float | None) -> None:
    """Raise `ConfigError` for a dual clip that would cut an unchanged policy."""
    if dual_clip is not None and not dual_clip > 1.0:
        raise ConfigError(
            f"{name}: dual_clip={dual_clip} would cut the ratio 1 of an unchanged policy; "
            "set it above 1 (the paper's code: 3), or null to switch it off."
        )
