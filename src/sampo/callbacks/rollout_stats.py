"""Logs what was rolled out for each update."""

from __future__ import annotations

from typing import Any

import lightning as L
from lightning.pytorch.utilities import rank_zero_warn

from sampo.data.datamodule import RolloutDataModule


class RolloutStats(L.Callback):
    """Logs the metrics of each rollout (`rollout/...`, `time/rollout_s`).

    They are taken over all episodes that were rolled out, kept by the filter or not: a success
    rate over kept groups would be drawn towards one half.
    """

    def __init__(self) -> None:
        self._warned = False

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
        failed = data.last_rollout.failed
        if failed and not self._warned:
            self._warned = True
            rank_zero_warn(
                f"{len(failed)} episodes of update {data.last_rollout.update} failed twice and are "
                f"left out; the last one said: {failed[-1].error} (told once; the metric "
                "rollout/failed_episodes goes on counting)"
            )
        pl_module.log_dict({name: float(v) for name, v in data.last_rollout.stats.items()})
