"""Dropout has no place under policy gradients."""

from __future__ import annotations

from torch import nn


def switch_off_dropout(model: nn.Module) -> None:
    """Set every dropout probability of a model to zero.

    The policy that is trained, the one that was rolled out and the one that is scored have to be
    one network: dropout alone would move the importance ratios away from 1. Covers dropout modules
    and the numbers that attention layers keep (`attention_dropout`, `dropout`, ...).
    """
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        for name, value in vars(module).items():
            if "dropout" in name and isinstance(value, float):
                setattr(module, name, 0.0)
