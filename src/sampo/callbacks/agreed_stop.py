"""SIGTERM in a run of several processes: all of them stop after the same update."""

from __future__ import annotations

from types import FrameType
from typing import Any

import lightning as L


class AgreedStop(L.Callback):
    """Notes SIGTERM where it comes, and tells Lightning of it on all ranks at once.

    Lightning 2.6 exchanges it within the signal handler, wherever a rank is: ranks that are in
    another exchange then wait for ever, as under Slurm, which signals all of them. `SampoTrainer`
    adds this callback to every run of several processes, before all others.

    Args:
        trainer: whose handler of SIGTERM is replaced.
    """

    def __init__(self, trainer: L.Trainer) -> None:
        self._asked = False
        self._signals: Any = trainer._signal_connector
        self._signals._sigterm_notifier_fn = self._note
        self._launcher = trainer.strategy.launcher

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Agree after the rollout; the run stops after its update."""
        self._agree(trainer)

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Agree after the update."""
        self._agree(trainer)

    def on_validation_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Agree within an evaluation."""
        self._agree(trainer)

    def _note(self, signum: int, frame: FrameType | None) -> None:
        if not self._asked and self._launcher is not None:
            self._launcher.kill(signum)  # of processes that it started; none elsewhere
        self._asked = True

    def _agree(self, trainer: L.Trainer) -> None:
        if trainer.strategy.reduce_boolean_decision(self._asked, all=False):
            self._signals.received_sigterm = True
