"""`sampo evaluate`: fixed held-out tasks played once, with a report and the episodes."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal

import lightning as L
from rich.console import Console

from sampo.callbacks.episode_keeper import EpisodeKeeper
from sampo.callbacks.run_folder import run_folder
from sampo.commands.served import module_to_play, print_usage
from sampo.data.datamodule import RolloutDataModule
from sampo.data.episode_log import write_episodes
from sampo.errors import EngineError
from sampo.evaluation import EvaluationSetup, evaluate_episodes
from sampo.module import SampoModule


def evaluate(
    trainer: L.Trainer,
    model: SampoModule,
    datamodule: RolloutDataModule,
    *,
    checkpoint: str | None,
    split: Literal["val", "test"],
    output: str | None,
    weights_only: bool,
) -> None:
    """Play the tasks of a split and write and print the report.

    Args:
        trainer: runs the loop.
        model: the module; not loaded where the engine asks a served model.
        datamodule: the data.
        checkpoint: its path, settled; None: the policy that `model.policy` names.
        split: which tasks.
        output: JSON file of the report; None: in the run folder.
        weights_only: load checkpoints without executing anything in them.

    Raises:
        EngineError: the engine failed; the episodes that had ended are written.
        ConfigError: a checkpoint and a served model are given.
    """
    played = module_to_play(trainer, model, datamodule, checkpoint)
    file = Path(output) if output else run_folder(trainer) / f"evaluation_{split}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()  # a place that cannot be written is found before the episodes are played
    kept = run_folder(trainer) / f"evaluation_{split}_episodes.jsonl"
    keeper = EpisodeKeeper()
    trainer.callbacks.append(keeper)  # pyright: ignore[reportAttributeAccessIssue]
    # Not the subclass's methods, which would look for the checkpoint once more.
    play = L.Trainer.validate if split == "val" else L.Trainer.test
    try:
        play(
            trainer,
            played,
            datamodule=datamodule,
            ckpt_path=checkpoint,
            verbose=False,
            weights_only=weights_only,
        )
    except EngineError as error:
        write_episodes(kept, keeper.ended)
        print_usage(datamodule, Console(stderr=True))
        raise EngineError(
            f"{error} The evaluation broke off, without a report; the {len(keeper.ended)} episodes "
            f"that had ended are in {kept}."
        ) from error
    finally:
        if datamodule.engine.served_model:
            datamodule.engine.close()
        if not file.stat().st_size:
            file.unlink()
    setup = EvaluationSetup(
        split=split,
        seed=datamodule.player.evaluation.seed,
        sampling=asdict(datamodule.player.eval_sampling),
        checkpoint=datamodule.engine.served_model or checkpoint or str(model.hparams["policy"]),
        config=str(run_folder(trainer) / "config.yaml"),
    )
    report = evaluate_episodes(keeper.episodes, setup)
    report = replace(report, usage=datamodule.engine.usage())
    file.write_text(report.to_json() + "\n")
    write_episodes(kept, keeper.episodes)
    Console().print(report.table(), f"Report: {file}\nEpisodes: {kept}", soft_wrap=True)
