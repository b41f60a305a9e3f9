"""`sampo collect`: episodes by an expert or a policy, written as demonstrations."""

from __future__ import annotations

from pathlib import Path

import torch
from rich.console import Console
from rich.progress import Progress

from sampo.checkpoint import load_checkpoint
from sampo.data.collect import CollectionPlan, collect_demonstrations
from sampo.data.datamodule import RolloutDataModule
from sampo.data.demonstrations import write_demonstrations
from sampo.errors import ConfigError
from sampo.module import SampoModule


def writable_file(output: str) -> Path:
    """Return the file to write, its folder made, before anything is played.

    Raises:
        ConfigError: it is a folder.
    """
    target = Path(output)
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir():
        raise ConfigError(f"--output {output} is a folder; name the Parquet file to write.")
    return target


def collect(datamodule: RolloutDataModule, plan: CollectionPlan, output: Path) -> None:
    """Play the episodes of a plan under a progress bar and write the good ones."""
    with Progress() as bar:
        task = bar.add_task("collecting", total=plan.num_episodes)

        def progress(played: int, accepted: int) -> None:
            bar.update(task, completed=played, description=f"collecting, {accepted} kept")

        summary = write_demonstrations(
            str(output),
            collect_demonstrations(datamodule, plan, progress),
            policy=plan.policy_name,
            metadata={"env": type(datamodule.player.env).__qualname__, "split": plan.split},
        )
    datamodule.teardown("collect")
    Console().print(summary.table(), f"Demonstrations: {output}", soft_wrap=True)


def load_policy(
    model: SampoModule, datamodule: RolloutDataModule, checkpoint: str | None, device: torch.device
) -> None:
    """Give the engine a policy outside of any loop.

    Args:
        model: the module; its policy is loaded.
        datamodule: the data, with the engine.
        checkpoint: its path; None: the policy that `model.policy` names.
        device: where the policy runs.
    """
    model.configure_model()
    assert model.policy is not None
    if checkpoint is not None:
        model.load_state_dict(load_checkpoint(checkpoint)["state_dict"], strict=False)
    model.policy.to(device)
    datamodule.setup("collect")
    datamodule.engine.sync_weights(model.policy, model.update_step)
