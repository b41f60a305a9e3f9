"""The single back edge: the trained weights go to the engine that writes the next episodes."""

from __future__ import annotations

from typing import Any

import lightning as L

from sampo.data.datamodule import RolloutDataModule
from sampo.module import SampoModule


class WeightSync(L.Callback):
    """Gives the engine the policy before the first rollout and after every update.

    In between, while the policy is updated, the engine may sleep.

    Only this callback sees both the module and the engine. The first sync comes with whatever plays
    first, the evaluation before training or training: sharded weights are restored from a
    checkpoint after `on_fit_start`.
    """

    def __init__(self) -> None:
        self._in_sync = False
        """Whether the engine has had the weights of this fit."""

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Know nothing of an earlier fit."""
        self._in_sync = False

    def on_sanity_check_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Sync before the evaluation before training."""
        self._sync(trainer, pl_module)

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Sync before the first rollout, unless there was an evaluation."""
        if not self._in_sync:
            self._sync(trainer, pl_module)

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Let the engine give its memory to the update, where it is set to."""
        data = getattr(trainer, "datamodule", None)
        assert isinstance(data, RolloutDataModule)
        data.engine.sleep()

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Sync the updated policy."""
        self._sync(trainer, pl_module)

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Sync for a validation outside training (inside, it is in sync already)."""
        if trainer.state.fn != "fit":
            self._sync(trainer, pl_module)

    def on_test_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Sync for a test."""
        self._sync(trainer, pl_module)

    def _sync(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        # Behaviour cloning has no engine to keep in step during training, but validates by
        # rolling out; both modules hold a `policy`.
        data = getattr(trainer, "datamodule", None)
        assert isinstance(pl_module, SampoModule) and isinstance(data, RolloutDataModule)
        assert pl_module.policy is not None
        data.finish_rollout()
        data.engine.sync_weights(pl_module.policy, pl_module.update_step)
        self._in_sync = True
