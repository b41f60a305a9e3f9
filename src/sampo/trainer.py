"""Lightning's Trainer with sampo's subcommands: signatures here are options of the command line."""

from __future__ import annotations

from typing import Any, Literal

import lightning as L
from rich.console import Console

from sampo.callbacks.agreed_stop import AgreedStop
from sampo.callbacks.run_folder import runs_folder
from sampo.checkpoint import (
    export_policy,
    latest_checkpoint,
    load_checkpoint,
    resumable,
    weights_that_fit,
)
from sampo.commands.collect import collect, load_policy, writable_file
from sampo.commands.evaluate import evaluate
from sampo.commands.explain import explain
from sampo.data.collect import CollectionPlan
from sampo.data.datamodule import RolloutDataModule
from sampo.doctor.examination import examine
from sampo.doctor.inputs import DoctorInputs
from sampo.errors import ConfigError
from sampo.module import SampoModule
from sampo.strategies import check_strategy


class SampoTrainer(L.Trainer):
    """A Trainer that can also clone, check, collect, evaluate, explain and export."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        check_strategy(self.strategy)
        if self.world_size > 1:
            self.callbacks.insert(0, AgreedStop(self))  # pyright: ignore[reportAttributeAccessIssue]
        if self.precision == "16-mixed":  # we clip and check gradients before they are unscaled
            raise ConfigError("trainer.precision=16-mixed is not supported; use bf16-mixed.")

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
        with resumable(self._resolve(ckpt_path), type(datamodule).__qualname__) as path:
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
        with weights_that_fit(self._resolve(ckpt_path)) as path:
            return super().validate(model, None, path, verbose, datamodule, weights_only)

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
        evaluate(
            self,
            model,
            datamodule,
            checkpoint=self._resolve(ckpt_path),
            split=split,
            output=output,
            weights_only=weights_only,
        )

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
        target = writable_file(output)
        if source == "policy":
            checkpoint = self._resolve(ckpt_path)
            load_policy(model, datamodule, checkpoint, self.strategy.root_device)
        collect(datamodule, plan, target)

    def doctor(
        self,
        model: SampoModule,
        datamodule: RolloutDataModule,
        ckpt_path: str | None = None,
        weights_only: bool = True,
    ) -> None:
        """Check everything that can be checked before a run; exits with 1 if anything is wrong.

        Args:
            model: the module.
            datamodule: the data.
            ckpt_path: checkpoint whose weights are checked; without it, those of `model.policy`.
            weights_only: always; here so that the config of a fit can be used.
        """
        examine(
            DoctorInputs(
                module=model,
                data=datamodule,
                runs=runs_folder(self),
                device=self.strategy.root_device,
                ckpt_path=self._resolve(ckpt_path),
                precision=self.precision_plugin,
            )
        )

    def explain(
        self,
        model: SampoModule,
        datamodule: RolloutDataModule,
        ckpt_path: str | None = None,
        weights_only: bool = True,
    ) -> None:
        """Say what a config optimises, what an update costs and what is unwise, and run nothing.

        Args:
            model: the module.
            datamodule: the data.
            ckpt_path: not used; here so that the config of a fit can be used.
            weights_only: not used; likewise.
        """
        explain(self, model, datamodule)

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

    def _resolve(self, ckpt_path: str | None) -> str | None:
        """Return the checkpoint that an option names; `last` is the newest of this run's name."""
        if ckpt_path is None:
            return None
        if ckpt_path != "last":
            load_checkpoint(ckpt_path, mmap=True)
            return ckpt_path
        path = latest_checkpoint(runs_folder(self))
        if self.is_global_zero:
            Console(stderr=True).print(f"Continuing from {path}", soft_wrap=True)
        return str(path)
