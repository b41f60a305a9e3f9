"""`sampo evaluate`: fixed held-out tasks played once, with a report and the episodes."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal

import lightning as L
from rich.console import Console

from sampo.callbacks.episode_keeper import EpisodeKeeper
from sampo.callbacks.run_folder import run_folder
from sampo.checkpoint import weights_that_fit
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
    files = _Files(trainer, split, output)
    keeper = EpisodeKeeper(at_start=files.claim)
    trainer.callbacks.append(keeper)  # pyright: ignore[reportAttributeAccessIssue]
    # Not the subclass's methods, which would look for the checkpoint once more.
    play = L.Trainer.validate if split == "val" else L.Trainer.test
    try:
        with weights_that_fit(checkpoint):
            play(
                trainer,
                played,
                datamodule=datamodule,
                ckpt_path=checkpoint,
                verbose=False,
                weights_only=weights_only,
            )
    except EngineError as error:
        parts = datamodule.player.world.gather(lambda: keeper.ended)
        ended = [episode for part in parts for episode in part]
        if trainer.is_global_zero:
            write_episodes(files.episodes, ended)
            print_usage(datamodule, Console(stderr=True))
        raise EngineError(
            f"{error} The evaluation broke off, without a report; the {len(ended)} episodes "
            f"that had ended are in {files.episodes}."
        ) from error
    finally:
        if datamodule.engine.served_model:
            datamodule.engine.close()
        files.give_back()
    if not trainer.is_global_zero:
        return
    setup = EvaluationSetup(
        split=split,
        seed=datamodule.player.evaluation.seed,
        sampling=asdict(datamodule.player.eval_sampling),
        checkpoint=datamodule.engine.served_model or checkpoint or str(model.hparams["policy"]),
        config=str(run_folder(trainer) / "config.yaml"),
    )
    report = evaluate_episodes(keeper.episodes, setup)
    report = replace(report, usage=datamodule.engine.usage())
    files.report.write_text(report.to_json() + "\n")
    write_episodes(files.episodes, keeper.episodes)
    written = f"Report: {files.report}\nEpisodes: {files.episodes}"
    Console().print(report.table(), written, soft_wrap=True)


class _Files:
    """The files of an evaluation; known once all ranks are there."""

    def __init__(self, trainer: L.Trainer, split: str, output: str | None) -> None:
        self._trainer = trainer
        self._split = split
        self._output = output
        self.report = Path()
        self.episodes = Path()

    def claim(self) -> None:
        """Find a place that cannot be written before the episodes are played."""
        folder = run_folder(self._trainer)
        name = f"evaluation_{self._split}"
        self.report = Path(self._output) if self._output else folder / f"{name}.json"
        self.episodes = folder / f"{name}_episodes.jsonl"
        if self._trainer.is_global_zero:
            self.report.parent.mkdir(parents=True, exist_ok=True)
            self.report.touch()

    def give_back(self) -> None:
        """Delete a report that was not written."""
        there = self._trainer.is_global_zero and self.report.is_file()
        if there and not self.report.stat().st_size:
            self.report.unlink()
