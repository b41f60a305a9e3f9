"""A value head on the policy's own hidden states, for PPO's generalised advantage estimation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


def drop_value_head(weights: dict[str, Any]) -> None:
    """Take a policy's value head out of a module's state dict, where it has one."""
    for key in [key for key in weights if key.startswith("policy.value_head.")]:
        del weights[key]


class ValueHead(nn.Linear):
    """Predicts the return from the last hidden state before a token; starts at zero.

    Args:
        hidden_size: width of the hidden states.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__(hidden_size, 1)
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        """Return `[N]`, float32, from `[N, H]`: half precision would lose what an error needs."""
        with torch.autocast(hidden.device.type, enabled=False):
            # A sum over one number, not a view: hooks of sharded modules would lose track of it.
            return super().forward(hidden.to(self.weight.dtype)).float().sum(-1)
