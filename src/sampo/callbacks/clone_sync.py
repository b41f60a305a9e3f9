"""Cloning's back edge: the clone goes to the engine when it is to be validated."""

from __future__ import annotations

import lightning as L

from sampo.cloning import CloningModule
from sampo.data.demonstration_data import DemonstrationDataModule


class CloneSync(L.Callback):
    """Gives the engine the clone before each validation; training needs no engine."""

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Sync the present weights."""
        data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
        assert isinstance(pl_module, CloningModule)
        assert isinstance(data, DemonstrationDataModule)
        assert pl_module.policy is not None
        data.engine.sync_weights(pl_module.policy, pl_module.update_step)

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Let the engine give its memory back until the next one, where it is set to."""
        data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
        assert isinstance(data, DemonstrationDataModule)
        data.engine.sleep()
