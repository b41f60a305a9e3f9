"""Logs what was rolled out for each update."""

from __future__ import annotations

from typing import Any

import lightning as L

from sampo.data.datamodule import RolloutDataModule


class RolloutStats(L.Callback):
    """Logs the metrics of each rollout (`rollout/...`, `time/rollout_s`).

    They are taken over all episodes that were rolled out, kept by the filter or not: a success
    rate over kept groups would be drawn towards one half.
    """

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Log the rollout that was just trained on."""
        data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
        assert isinstance(data, RolloutDataModule) and data.last_rollout is not None
        pl_module.log_dict({name: float(v) for name, v in data.last_rollout.stats.items()})
