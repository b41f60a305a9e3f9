"""Checkpoints that a run can be continued from, also after Ctrl-C or a kill.

A checkpoint is a consistent cut between two updates: weights, optimiser, counters, task cursor,
random states of every process, states of the other callbacks, config and versions. Files are whole
or not there (`whole_files`). See docs/checkpoints.md.
"""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType
from typing import Any

import lightning as L
from lightning.fabric.plugins import TorchCheckpointIO
from lightning.pytorch.utilities import rank_zero_info, rank_zero_warn

from sampo.callbacks.policy_folder import write_policy
from sampo.callbacks.random_states import gathered_random_states, restore_random_states
from sampo.callbacks.run_facts import config_text, differing_versions, versions
from sampo.callbacks.run_folder import run_folder
from sampo.callbacks.whole_files import WholeFileIO, save_checkpoint
from sampo.errors import CheckpointError, ConfigError, did_you_mean
from sampo.module import SampoModule

_KEY = "sampo_run"
"""Of what this callback puts into a checkpoint."""


class Checkpoints(L.Callback):
    """Keeps `checkpoints/last.ckpt`, `best.ckpt`, and the policy as a Hugging Face folder.

    On Ctrl-C during a rollout the run ends at once; during an update it ends when the update is
    done (press again to end it there and then; the last checkpoint stays valid). With several
    processes it always ends after the update, when all of them can agree on it. Either way
    `last.ckpt` is written and the run can be continued with `--ckpt_path last`.

    Args:
        every_n_updates: how often `last.ckpt` is written.
        monitor: evaluation metric whose highest value makes `best.ckpt`; None keeps none.
        export: whether to write the policy as a Hugging Face folder when the run ends.
    """

    def __init__(
        self,
        every_n_updates: int = 1,
        monitor: str | None = "eval/success_rate",
        export: bool = True,
    ) -> None:
        if every_n_updates < 1:
            raise ConfigError(
                f"Checkpoints.every_n_updates must be at least 1, got {every_n_updates}."
            )
        self.every_n_updates = every_n_updates
        self.monitor = monitor
        self.export = export
        self.best: float | None = None
        self._interrupted = False
        self._previous_handler: Any = None
        self._config: str | None = None

    def state_dict(self) -> dict[str, Any]:
        """Return the best value so far."""
        return {"best": self.best}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore it."""
        self.best = state_dict["best"]

    def on_save_checkpoint(
        self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Add what belongs to no part of the run: random states, config and versions."""
        checkpoint[_KEY] = {
            "random_states": gathered_random_states(),
            "config": self._config,
            "versions": versions(),
        }

    def on_load_checkpoint(
        self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Restore the random states; tell of other versions, with which numbers may differ."""
        if _KEY not in checkpoint:  # written by a run without this callback
            return
        restore_random_states(checkpoint[_KEY]["random_states"], trainer.global_rank)
        if changed := differing_versions(checkpoint[_KEY]["versions"]):
            rank_zero_warn(
                f"The checkpoint was written with {changed}; the run goes on, but maybe not bit "
                "for bit."
            )

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Have all checkpoints of the run written as whole files."""
        if type(trainer.strategy.checkpoint_io) is TorchCheckpointIO:  # none of the user's choice
            trainer.strategy.checkpoint_io = WholeFileIO()
        self._config = config_text(trainer)

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Let Ctrl-C wait for the end of an update."""
        assert isinstance(pl_module, SampoModule)

        def handle(signum: int, frame: FrameType | None) -> None:
            can_stop = trainer.world_size == 1 and not pl_module.in_update
            if can_stop or self._interrupted:
                raise KeyboardInterrupt
            self._interrupted = True
            rank_zero_info("Stopping after this update; press Ctrl-C again to stop now.")

        self._interrupted = False
        self._previous_handler = signal.signal(signal.SIGINT, handle)

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Write `last.ckpt` if it is due, or if any process was told to stop."""
        assert isinstance(pl_module, SampoModule)
        agree = trainer.strategy.reduce_boolean_decision
        interrupted = agree(self._interrupted, all=False)
        terminated = agree(trainer.received_sigterm, all=False)
        due = pl_module.update_step % self.every_n_updates == 0
        if due or interrupted or terminated:
            self._save(trainer, "last.ckpt")
        if interrupted:
            raise KeyboardInterrupt

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Write `best.ckpt` after an evaluation that beats all before."""
        if trainer.state.fn != "fit" or self.monitor is None:
            return
        value = trainer.callback_metrics.get(self.monitor)
        if value is None:
            known = [name for name in trainer.callback_metrics if name.startswith("eval/")]
            raise CheckpointError(
                f"Checkpoints.monitor names {self.monitor!r}, which is not logged."
                f"{did_you_mean(self.monitor, known)} Logged: {', '.join(sorted(known))}."
            )
        if trainer.sanity_checking:
            return
        # Rank 0 decides: ranks that disagreed would wait for each other for ever.
        value = trainer.strategy.broadcast(float(value))
        if self.best is None or value > self.best:
            self.best = value
            self._save(trainer, "best.ckpt")

    def on_exception(
        self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException
    ) -> None:
        """Write `last.ckpt` when the run is broken off between two updates."""
        assert isinstance(pl_module, SampoModule)
        alone = trainer.world_size == 1  # others would not know that they have to save, too
        stopped = alone and isinstance(exception, KeyboardInterrupt)
        if stopped and pl_module.update_step and not pl_module.in_update:
            path = self._save(trainer, "last.ckpt")
            rank_zero_info(f"Stopped at update {pl_module.update_step}; continue with {path}.")

    def on_fit_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Write the final checkpoint and the policy's Hugging Face folder."""
        assert isinstance(pl_module, SampoModule) and pl_module.policy is not None
        self._save(trainer, "last.ckpt")
        if self.export:
            renderer = trainer.datamodule.renderer  # pyright: ignore[reportAttributeAccessIssue]
            write_policy(trainer, pl_module.policy, renderer.tokenizer)

    def teardown(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Give Ctrl-C back."""
        if self._previous_handler is not None:
            signal.signal(signal.SIGINT, self._previous_handler)
            self._previous_handler = None

    def _save(self, trainer: L.Trainer, name: str) -> Path:
        path = run_folder(trainer) / "checkpoints" / name
        save_checkpoint(trainer, path)
        return path
