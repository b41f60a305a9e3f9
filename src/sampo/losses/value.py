# pyright: strict
"""The value head's loss: the classic baseline's own term."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sampo.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class ValueLoss:
    """Squared error of a value head against its targets, clipped as in PPO.

    With the value `V`, the one at the time of the rollout `V_old` and the target `G` (GAE's)::

        L_t = 1/2 max((V - G)^2, (V_old + clip(V - V_old, -clip, clip) - G)^2)

    References:
        Proximal Policy Optimization Algorithms, https://arxiv.org/abs/1707.06347
        High-Dimensional Continuous Control Using Generalized Advantage Estimation,
        https://arxiv.org/abs/1506.02438
    """

    coef: float = 0.5
    """Weight of the term in the loss."""
    clip: float | None = 0.2
    """How far a value may move from the rollout's before it gains nothing; null: no bound."""

    def __post_init__(self) -> None:
        """Refuse numbers that cannot work."""
        if not self.coef > 0.0 or not (self.clip is None or self.clip > 0.0):
            raise ConfigError(
                f"loss.value: coef={self.coef} and clip={self.clip} must be above 0 (clip may be "
                "null); to train without a value head set loss.value to null."
            )

    def __call__(self, values: Tensor, old_values: Tensor, returns: Tensor) -> Tensor:
        """Return the loss of every token, shaped like the arguments (`[B, L]`)."""
        error = (values - returns).square()
        if self.clip is not None:
            near = old_values + (values - old_values).clamp(-self.clip, self.clip)
            error = torch.maximum(error, (near - returns).square())
        return error / 2
