"""Logs what was rolled out for each update."""

from __future__ import annotations

from typing import Any

import lightning as L
from lightning.pytorch.utilities import rank_zero_warn

from sampo.batch import RolloutBatch
from sampo.callbacks.latest import latest_rollout, rollout_data

_TOO_MANY_ZEROS = 3
"""One update without a lesson is chance, so many in a row are not."""


class RolloutStats(L.Callback):
    """Logs the metrics of each rollout (`rollout/...`, `time/rollout_s`).

    They are taken over all episodes that were rolled out, kept by the filter or not: a success
    rate over kept groups would be drawn towards one half. Failed episodes, and updates in a row in
    which no episode was better than another, are told once each.
    """

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._zeros_in_a_row = 0

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: RolloutBatch,
        batch_idx: int,
    ) -> None:
        """Log the rollout that was just trained on."""
        rollout, advantage = latest_rollout(trainer), rollout_data(trainer).advantage
        if rollout.failed:
            self._tell_once(
                "failed",
                f"{len(rollout.failed)} episodes of update {rollout.update} failed twice and are "
                f"left out; the last one said: {rollout.failed[-1].error} (told once; the metric "
                "rollout/failed_episodes goes on counting)",
            )
        all_zero = advantage.compares_episodes and not bool(batch.advantages.any())
        self._zeros_in_a_row = self._zeros_in_a_row + 1 if all_zero else 0
        if self._zeros_in_a_row == _TOO_MANY_ZEROS:
            self._tell_once(
                "zeros",
                f"All advantages of {_TOO_MANY_ZEROS} updates in a row, up to update "
                f"{rollout.update}, are zero, because the episodes of each group are worth the "
                f"same to {type(advantage).__name__}: rewards teach nothing. Choose easier "
                "tasks or a better policy, or raise data.group_size (told once; the metric "
                "rollout/zero_spread_groups goes on counting)",
            )
        pl_module.log_dict({name: float(v) for name, v in rollout.stats.items()})

    def _tell_once(self, what: str, message: str) -> None:
        if what not in self._told:
            self._told.add(what)
            rank_zero_warn(message)
