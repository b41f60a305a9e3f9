"""What `evaluate` and `collect` do otherwise where a model behind somebody else's server plays."""

from __future__ import annotations

import lightning as L
from rich.console import Console

from sampo.callbacks.checkpoints import Checkpoints
from sampo.callbacks.weight_sync import WeightSync
from sampo.data.collect import CollectionPlan
from sampo.data.datamodule import RolloutDataModule
from sampo.errors import ConfigError
from sampo.evaluation import EvaluatedModule, usage_rows
from sampo.module import SampoModule


def module_to_play(
    trainer: L.Trainer, model: SampoModule, datamodule: RolloutDataModule, checkpoint: str | None
) -> L.LightningModule:
    """Return what counts the episodes: the module, or one without a policy for a served model.

    The trainer is then left without callbacks that need a policy.

    Raises:
        ConfigError: a checkpoint is given, which a served model has no use for.
    """
    if not datamodule.engine.served_model:
        return model
    refuse_checkpoint(datamodule, checkpoint)
    trainer.callbacks = [  # pyright: ignore[reportAttributeAccessIssue]
        callback
        for callback in trainer.callbacks  # pyright: ignore[reportAttributeAccessIssue]
        if not isinstance(callback, WeightSync | Checkpoints)
    ]
    announce(datamodule)
    return EvaluatedModule()


def announce(datamodule: RolloutDataModule) -> None:
    """Say who is asked, and what of the config has no effect then."""
    Console(stderr=True).print(
        f"Asking {datamodule.engine.served_model}. No weights are loaded (model.policy), and the "
        "server decides how long a prompt may be (data.context_length).",
        soft_wrap=True,
    )


def refuse_checkpoint(datamodule: RolloutDataModule, checkpoint: str | None) -> None:
    """Refuse a checkpoint beside a served model.

    Raises:
        ConfigError: there is one.
    """
    if checkpoint is not None:
        raise ConfigError(
            f"--ckpt_path {checkpoint} is of no use to {datamodule.engine.served_model}, which has "
            "its own weights. Leave it out, or choose another data.engine."
        )


def who_acts(datamodule: RolloutDataModule, plan: CollectionPlan) -> str:
    """Return who plays, for the file."""
    served = datamodule.engine.served_model
    return served if served and plan.source == "policy" else plan.policy_name


def print_usage(datamodule: RolloutDataModule, console: Console) -> None:
    """Print what a served model has cost, if anybody was asked."""
    if usage := usage_rows(datamodule.engine.usage()):
        spent = ", ".join(f"{name} {value}" for name, value in usage)
        console.print(f"Spent: {spent}", soft_wrap=True)
