"""`sampo evaluate`: fixed held-out tasks played once, with a report and the episodes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Literal

import lightning as L
from rich.console import Console

from sampo.callbacks.episode_keeper import EpisodeKeeper
from sampo.callbacks.run_folder import run_folder
from sampo.data.datamodule import RolloutDataModule
from sampo.data.episode_log import write_episodes
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
        model: the module.
        datamodule: the data.
        checkpoint: its path, settled; None: the policy that `model.policy` names.
        split: which tasks.
        output: JSON file of the report; None: in the run folder.
        weights_only: load checkpoints without executing anything in them.
    """
    file = Path(output) if output else run_folder(trainer) / f"evaluation_{split}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()  # a place that cannot be written is found before the episodes are played
    keeper = EpisodeKeeper()
    trainer.callbacks.append(keeper)  # pyright: ignore[reportAttributeAccessIssue]
    # Not the subclass's methods, which would look for the checkpoint once more.
    play = L.Trainer.validate if split == "val" else L.Trainer.test
    play(
        trainer,
        model,
        datamodule=datamodule,
        ckpt_path=checkpoint,
        verbose=False,
        weights_only=weights_only,
    )
    setup = EvaluationSetup(
        split=split,
        seed=datamodule.player.evaluation.seed,
        sampling=asdict(datamodule.player.eval_sampling),
        checkpoint=checkpoint or str(model.hparams["policy"]),
        config=str(run_folder(trainer) / "config.yaml"),
    )
    report = evaluate_episodes(keeper.episodes, setup)
    file.write_text(report.to_json() + "\n")
    kept = run_folder(trainer) / f"evaluation_{split}_episodes.jsonl"
    write_episodes(kept, keeper.episodes)
    Console().print(report.table(), f"Report: {file}\nEpisodes: {kept}", soft_wrap=True)
