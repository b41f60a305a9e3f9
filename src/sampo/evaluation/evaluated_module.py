"""What modules have in common that are evaluated by rolling out fixed tasks."""

from __future__ import annotations

import lightning as L
from torch import Tensor

from sampo.episode import Episode
from sampo.errors import EnvFailure
from sampo.evaluation.metrics import EpisodeMetrics
from sampo.world import World


class EvaluatedModule(L.LightningModule):
    """Counts the finished episodes of the validation and test loops and logs their metrics.

    Episodes come from the DataModule; nothing is rolled out here. Metrics are logged as `eval/...`
    and `test/...` against `update_step`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.update_step = 0
        """Updates so far: the policy's version."""
        self.world = World()
        """The ranks of the run."""
        # The data give every rank the episodes of all.
        self.eval_metrics = EpisodeMetrics(sync_on_compute=False)
        self._last_error: str | None = None

    def setup(self, stage: str) -> None:
        """Get to know the other ranks."""
        self.world = World.join()

    def validation_step(self, batch: list[Episode], batch_idx: int) -> None:
        """Count the episodes of fixed validation tasks."""
        self._count(batch)

    def test_step(self, batch: list[Episode], batch_idx: int) -> None:
        """Count the episodes of fixed test tasks."""
        self._count(batch)

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

    def _count(self, episodes: list[Episode]) -> None:
        self.eval_metrics.update(episodes)
        for episode in episodes:
            self._last_error = episode.error or self._last_error

    def _collect(self, prefix: str) -> dict[str, Tensor]:
        values = {f"{prefix}/{name}": value for name, value in self.eval_metrics.compute().items()}
        self.eval_metrics.reset()
        failed = float(values[f"{prefix}/failed_episodes"])
        if failed and not float(values[f"{prefix}/episodes"]):
            raise EnvFailure(
                f"All {failed:.0f} episodes of the evaluation failed; the last one said: "
                f"{self._last_error}"
            )
        return values

    def _log(self, values: dict[str, Tensor]) -> None:
        self.log("step", float(self.update_step))
        self.log_dict(values)
