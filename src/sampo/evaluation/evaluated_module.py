"""What modules have in common that are evaluated by rolling out fixed tasks."""

from __future__ import annotations

import lightning as L
from torch import Tensor

from sampo.episode import Episode
from sampo.errors import ConfigError
from sampo.evaluation.metrics import EpisodeMetrics


class EvaluatedModule(L.LightningModule):
    """Counts the finished episodes of the validation and test loops and logs their metrics.

    Episodes come from the DataModule; nothing is rolled out here. Metrics are logged as `eval/...`
    and `test/...` against `update_step`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.update_step = 0
        """Updates so far: the policy's version."""
        self.eval_metrics = EpisodeMetrics()

    def setup(self, stage: str) -> None:
        """Refuse what is not supported yet."""
        if self.trainer.world_size > 1:
            raise ConfigError(
                f"This version runs on one device, got {self.trainer.world_size}. "
                "Set --trainer.devices 1 --trainer.num_nodes 1."
            )

    def validation_step(self, batch: list[Episode], batch_idx: int) -> None:
        """Count the episodes of fixed validation tasks."""
        self.eval_metrics.update(batch)

    def test_step(self, batch: list[Episode], batch_idx: int) -> None:
        """Count the episodes of fixed test tasks."""
        self.eval_metrics.update(batch)

    def on_validation_epoch_end(self) -> None:
        """Log the evaluation; the one before training too, which Lightning calls a sanity check."""
        values = self._collect("eval")
        if self.trainer.sanity_checking:
            for logger in self.trainer.loggers:
                logger.log_metrics({name: float(v) for name, v in values.items()}, step=0)
            self.trainer.callback_metrics.update(values)
            return
        self._log(values)

    def on_test_epoch_end(self) -> None:
        """Log the test."""
        self._log(self._collect("test"))

    def _collect(self, prefix: str) -> dict[str, Tensor]:
        values = {f"{prefix}/{name}": value for name, value in self.eval_metrics.compute().items()}
        self.eval_metrics.reset()
        return values

    def _log(self, values: dict[str, Tensor]) -> None:
        self.log("step", float(self.update_step))
        self.log_dict(values)
