"""The optimiser of a policy and, apart, of its value head; and the course of its learning rate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import lightning as L
import torch
from lightning.pytorch.core.optimizer import LightningOptimizer

from sampo.errors import ConfigError
from sampo.models.policy import Policy
from sampo.schedules import lr_factor


def adamw(policy: Policy, options: Mapping[str, Any]) -> torch.optim.AdamW:
    """Return AdamW; each group knows its `base_lr`.

    Args:
        policy: what is trained.
        options: the module's hyper-parameters `learning_rate`, `value_learning_rate`, `betas`,
            `weight_decay`.
    """
    rate = options["learning_rate"]
    trained = [parameter for parameter in policy.model.parameters() if parameter.requires_grad]
    groups = [{"params": trained, "base_lr": rate}]
    if policy.value_head is not None:
        # It starts at zero and sees targets of any size, so it has to move faster.
        value_rate = options["value_learning_rate"]
        value_rate = 10 * rate if value_rate is None else value_rate
        groups.append({"params": list(policy.value_head.parameters()), "base_lr": value_rate})
    betas, decay = tuple(options["betas"]), options["weight_decay"]
    return torch.optim.AdamW(groups, lr=rate, betas=betas, weight_decay=decay, fused=fused(policy))


def fused(policy: Policy) -> bool:
    """Return whether the optimiser steps all parameters in one kernel: on GPUs.

    On a CPU the step is small beside the passes, and the fused one rounds differently: published
    figures of nano runs would no longer be the command's.
    """
    return all(parameter.device.type == "cuda" for parameter in policy.parameters())


def scale_learning_rates(optimizer: LightningOptimizer, factor: float) -> None:
    """Set every group's learning rate to this share of its own full one."""
    for group in optimizer.param_groups:
        group["lr"] = group["base_lr"] * factor


def learning_rate_share(trainer: L.Trainer, options: Mapping[str, Any], update: int) -> float:
    """Return the learning rate's share of its full value at an update.

    Args:
        trainer: knows how many updates there will be.
        options: the module's hyper-parameters `lr_schedule` and `warmup_updates`.
        update: its number, from 0.
    """
    kind, total = options["lr_schedule"], None
    if kind != "constant":
        epochs, batches = trainer.max_epochs, trainer.num_training_batches
        if not epochs or epochs < 0 or math.isinf(batches):
            raise ConfigError(f"model.lr_schedule={kind} needs a finite trainer.max_epochs.")
        total = epochs * int(batches)
    return lr_factor(kind, update, total, options["warmup_updates"])


_ABOVE_ZERO = ("learning_rate", "value_learning_rate", "max_grad_norm", "micro_batch_tokens")
_NOT_NEGATIVE = ("weight_decay", "warmup_updates", "max_skipped_steps")


def check_numbers(options: Mapping[str, Any]) -> None:
    """Refuse hyper-parameters of the module that cannot work; a NaN is none that can.

    Raises:
        ConfigError: names the setting.
    """
    for name in _ABOVE_ZERO:
        if options[name] is not None and not options[name] > 0:
            raise ConfigError(f"model.{name} must be above 0, got {options[name]}.")
    for name in _NOT_NEGATIVE:
        if not options[name] >= 0:
            raise ConfigError(f"model.{name} must be 0 or more, got {options[name]}.")
    if not all(0.0 <= beta < 1.0 for beta in options["betas"]):
        raise ConfigError(f"model.betas must lie in [0, 1), got {list(options['betas'])}.")
