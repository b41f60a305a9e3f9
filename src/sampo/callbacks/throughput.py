"""How fast a run is: tokens and episodes per second."""

from __future__ import annotations

import time
from typing import Any

import lightning as L

from sampo.batch import RolloutBatch
from sampo.callbacks.latest import latest_rollout
from sampo.data.datamodule import RolloutDataModule


class Throughput(L.Callback):
    """Logs the speed of the two halves of an update.

    * `time/sampled_tokens_per_s`: tokens that the policy wrote, per second of rollout (waiting for
      environments included);
    * `time/episodes_per_s`: finished episodes, dropped ones included, per second of rollout;
    * `time/trained_tokens_per_s`: tokens of all rows, prompts included and padding not, per second
      of update (all scoring and training passes together).

    The seconds themselves, `time/rollout_s` and `time/update_s`, are logged by whoever spends them.
    """

    def __init__(self) -> None:
        self._started = 0.0

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Start the clock of the update."""
        self._started = time.perf_counter()

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: RolloutBatch,
        batch_idx: int,
    ) -> None:
        """Log the speed of this update and of its rollout."""
        seconds = time.perf_counter() - self._started
        rates = {"time/trained_tokens_per_s": _rate(float(batch.lengths.sum()), seconds)}
        data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(data, RolloutDataModule):
            stats = latest_rollout(trainer).stats
            rollout_s = stats["time/rollout_s"]
            rates["time/sampled_tokens_per_s"] = _rate(stats["rollout/action_tokens"], rollout_s)
            rates["time/episodes_per_s"] = _rate(stats["rollout/episodes"], rollout_s)
        pl_module.log_dict(rates)


def _rate(amount: float, seconds: float) -> float:
    """Return an amount per second; a clock too coarse to see the time gives no infinity."""
    return amount / max(seconds, 1e-6)
