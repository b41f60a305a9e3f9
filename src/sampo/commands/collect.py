"""`sampo collect`: episodes by an expert or a policy, written as demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import Progress

from sampo.checkpoint import load_checkpoint, weights_that_fit
from sampo.commands.served import announce, print_usage, refuse_checkpoint, who_acts
from sampo.data.collect import CollectionPlan, collect_demonstrations
from sampo.data.datamodule import RolloutDataModule
from sampo.data.demonstrations import write_demonstrations
from sampo.episode import Episode
from sampo.errors import ConfigError, EngineError, MissingDataError
from sampo.models.lora import check_same_adapters
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
    """Play the episodes of a plan under a progress bar and write the good ones.

    Raises:
        EngineError: the engine failed; what had been collected is written.
    """
    ended: list[Episode] = []
    failures: list[EngineError] = []
    datamodule.player.on_episode = ended.append

    def until_it_fails(progress: Callable[[int, int], None]) -> Iterator[Episode]:
        try:
            yield from collect_demonstrations(datamodule, plan, progress)
        except EngineError as error:
            failures.append(error)
            yield from filter(plan.accepts, ended)

    with Progress() as bar:
        task = bar.add_task("collecting", total=plan.num_episodes)

        def progress(played: int, accepted: int) -> None:
            ended.clear()
            bar.update(task, completed=played, description=f"collecting, {accepted} kept")

        try:
            summary = write_demonstrations(
                str(output),
                until_it_fails(progress),
                policy=who_acts(datamodule, plan),
                metadata={"env": type(datamodule.player.env).__qualname__, "split": plan.split},
            )
        except MissingDataError as error:
            raise (failures or [error])[0] from None
        finally:
            datamodule.player.on_episode = lambda _: None
            datamodule.teardown("collect")
            if datamodule.engine.served_model:
                datamodule.engine.close()
    Console().print(summary.table(), f"Demonstrations: {output}", soft_wrap=True)
    print_usage(datamodule, Console())
    if failures:
        raise EngineError(f"{failures[0]} The collection broke off; what it had is in {output}.")


def load_policy(
    model: SampoModule, datamodule: RolloutDataModule, checkpoint: str | None, device: torch.device
) -> None:
    """Give the engine a policy outside of any loop; a served model needs none.

    Args:
        model: the module; its policy is loaded.
        datamodule: the data, with the engine.
        checkpoint: its path; None: the policy that `model.policy` names.
        device: where the policy runs.

    Raises:
        ConfigError: a checkpoint is given, which a served model has no use for.
    """
    if datamodule.engine.served_model:
        refuse_checkpoint(datamodule, checkpoint)
        announce(datamodule)
        return
    model.configure_model()
    assert model.policy is not None
    if checkpoint is not None:
        saved = load_checkpoint(checkpoint)
        check_same_adapters(saved["hyper_parameters"], model.hparams)
        with weights_that_fit(checkpoint):
            model.load_state_dict(saved["state_dict"], strict=False)
    model.policy.to(device)
    datamodule.setup("collect")
    datamodule.engine.sync_weights(model.policy, model.update_step)
