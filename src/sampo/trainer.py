"""Lightning's Trainer with sampo's subcommands: signatures here are options of the command line."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import lightning as L
from rich.console import Console
from rich.progress import Progress

from sampo.callbacks.episode_keeper import EpisodeKeeper
from sampo.callbacks.run_folder import run_folder, runs_folder
from sampo.checkpoint import export_policy, latest_checkpoint, load_checkpoint
from sampo.data.collect import CollectionPlan, collect_demonstrations
from sampo.data.datamodule import RolloutDataModule
from sampo.data.demonstrations import write_demonstrations
from sampo.data.episode_log import write_episodes
from sampo.errors import ConfigError
from sampo.evaluation import EvaluationSetup, evaluate_episodes
from sampo.module import SampoModule


class SampoTrainer(L.Trainer):
    """A Trainer that can also clone, collect, evaluate and export.

    Args:
        **options: those of Lightning's Trainer.

    Raises:
        ConfigError: more than one device was asked for, before any process is launched.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if self.num_devices * self.num_nodes > 1:
            raise ConfigError(
                f"This version runs on one device, got {self.num_devices} on {self.num_nodes} "
                "node(s). Set --trainer.devices 1 --trainer.num_nodes 1."
            )

    def fit(
        self,
        model: L.LightningModule,
        train_dataloaders: Any = None,
        val_dataloaders: Any = None,
        datamodule: L.LightningDataModule | None = None,
        ckpt_path: str | None = None,
        weights_only: bool = True,
    ) -> None:
        """Train a policy with reinforcement learning.

        Args:
            model: the module.
            train_dataloaders: not used.
            val_dataloaders: not used.
            datamodule: the data.
            ckpt_path: checkpoint to continue from; `last` is the newest one of this run's name.
            weights_only: load checkpoints without executing anything in them.
        """
        path = self._resolve(ckpt_path)
        super().fit(model, datamodule=datamodule, ckpt_path=path, weights_only=weights_only)

    def validate(
        self,
        model: L.LightningModule | None = None,
        dataloaders: Any = None,
        ckpt_path: str | None = None,
        verbose: bool = True,
        datamodule: L.LightningDataModule | None = None,
        weights_only: bool = True,
    ) -> Any:
        """Play the fixed validation tasks once.

        Args:
            model: the module.
            dataloaders: not used.
            ckpt_path: checkpoint to validate; `last` is the newest one of this run's name.
            verbose: print the metrics.
            datamodule: the data.
            weights_only: load checkpoints without executing anything in them.
        """
        return super().validate(
            model,
            ckpt_path=self._resolve(ckpt_path),
            verbose=verbose,
            datamodule=datamodule,
            weights_only=weights_only,
        )

    def evaluate(
        self,
        model: SampoModule,
        datamodule: RolloutDataModule,
        ckpt_path: str | None = None,
        split: Literal["val", "test"] = "val",
        output: str | None = None,
        weights_only: bool = True,
    ) -> None:
        """Play fixed held-out tasks and report success with its interval.

        Args:
            model: the module.
            datamodule: the data.
            ckpt_path: checkpoint to evaluate; without it, the policy that `model.policy` names.
            split: which tasks.
            output: JSON file of the report; default `evaluation_SPLIT.json` in the run folder.
            weights_only: load checkpoints without executing anything in them.
        """
        path = self._resolve(ckpt_path)
        file = Path(output) if output else run_folder(self) / f"evaluation_{split}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()  # a place that cannot be written is found before the episodes are played
        keeper = EpisodeKeeper()
        self.callbacks.append(keeper)  # pyright: ignore[reportAttributeAccessIssue]
        run = super().validate if split == "val" else self.test
        run(model, datamodule=datamodule, ckpt_path=path, verbose=False, weights_only=weights_only)
        setup = EvaluationSetup(
            split=split,
            seed=datamodule.player.evaluation.seed,
            sampling=asdict(datamodule.player.eval_sampling),
            checkpoint=path or str(model.hparams["policy"]),
            config=str(run_folder(self) / "config.yaml"),
        )
        report = evaluate_episodes(keeper.episodes, setup)
        file.write_text(report.to_json() + "\n")
        kept = run_folder(self) / f"evaluation_{split}_episodes.jsonl"
        write_episodes(kept, keeper.episodes)
        Console().print(report.table(), f"Report: {file}\nEpisodes: {kept}", soft_wrap=True)

    def collect(
        self,
        model: SampoModule,
        datamodule: RolloutDataModule,
        output: str,
        episodes: int = 1000,
        source: Literal["expert", "policy"] = "expert",
        split: str = "train",
        noise: float = 0.0,
        only_successes: bool = True,
        min_reward: float | None = None,
        ckpt_path: str | None = None,
        weights_only: bool = True,
    ) -> None:
        """Play episodes and write those that succeed as demonstrations.

        Args:
            model: the module.
            datamodule: the data.
            output: the Parquet file.
            episodes: how many are played.
            source: who acts: the environment's expert, or the policy.
            split: which tasks.
            noise: probability per turn that the expert acts at random instead.
            only_successes: leave out episodes without success.
            min_reward: leave out episodes with a smaller raw return.
            ckpt_path: checkpoint of the policy; without it, the one that `model.policy` names.
            weights_only: always; here so that the config of a fit can be used.
        """
        plan = CollectionPlan(
            source=source,
            num_episodes=episodes,
            split=split,
            noise=noise,
            only_successes=only_successes,
            min_reward=min_reward,
        )
        target = Path(output)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            raise ConfigError(f"--output {output} is a folder; name the Parquet file to write.")
        if source == "policy":
            self._load_policy(model, datamodule, self._resolve(ckpt_path))
        with Progress() as bar:
            task = bar.add_task("collecting", total=episodes)

            def progress(played: int, accepted: int) -> None:
                bar.update(task, completed=played, description=f"collecting, {accepted} kept")

            summary = write_demonstrations(
                output,
                collect_demonstrations(datamodule, plan, progress),
                policy=plan.policy_name,
                metadata={"env": type(datamodule.player.env).__qualname__, "split": split},
            )
        datamodule.teardown("collect")
        Console().print(summary.table(), f"Demonstrations: {output}", soft_wrap=True)

    def clone(
        self,
        model: L.LightningModule,
        datamodule: L.LightningDataModule,
        ckpt_path: str | None = None,
        weights_only: bool = True,
    ) -> None:
        """Clone demonstrations: the start of a policy that reinforcement learning improves.

        Args:
            model: the module.
            datamodule: the data.
            ckpt_path: checkpoint to continue from.
            weights_only: load checkpoints without executing anything in them.
        """
        self.fit(model, None, None, datamodule, ckpt_path, weights_only)

    def export(
        self,
        model: SampoModule,
        datamodule: RolloutDataModule,
        output: str,
        ckpt_path: str | None = None,
        weights_only: bool = True,
    ) -> None:
        """Write the policy of a checkpoint as a Hugging Face folder.

        Args:
            model: not used.
            datamodule: not used.
            output: the folder.
            ckpt_path: the checkpoint; `last` is the newest one of this run's name.
            weights_only: always; here so that the config of a fit can be used.
        """
        path = self._resolve(ckpt_path)
        if path is None:
            raise ConfigError("export needs --ckpt_path.")
        Console().print(f"Hugging Face folder: {export_policy(path, output)}", soft_wrap=True)

    def _load_policy(
        self, model: SampoModule, datamodule: RolloutDataModule, path: str | None
    ) -> None:
        """Give the engine a policy outside of any loop."""
        model.configure_model()
        assert model.policy is not None
        if path is not None:
            model.load_state_dict(load_checkpoint(path)["state_dict"], strict=False)
        model.policy.to(self.strategy.root_device)
        datamodule.setup("collect")
        datamodule.engine.sync_weights(model.policy, model.update_step)

    def _resolve(self, ckpt_path: str | None) -> str | None:
        """Return the checkpoint that an option names; `last` is the newest of this run's name."""
        if ckpt_path is None:
            return None
        if ckpt_path != "last":
            load_checkpoint(ckpt_path)
            return ckpt_path
        path = latest_checkpoint(runs_folder(self))
        Console(stderr=True).print(f"Continuing from {path}", soft_wrap=True)
        return str(path)
