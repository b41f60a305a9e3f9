"""Ends a run when it has used what it was given, so that runs can be compared."""

from __future__ import annotations

from typing import Any

import lightning as L

from sampo.callbacks.costs import Costs
from sampo.callbacks.latest import rollout_data
from sampo.errors import ConfigError


class Budget(L.Callback):
    """Stops after the update with which a budget is used up; the first one that is, counts.

    Everything that was played counts, whether it was trained on or not, so that a method which
    throws half of its episodes away pays for them.

    Args:
        updates: most updates.
        episodes: most episodes, dropped and failed ones included.
        tokens: most sampled tokens.
    """

    def __init__(
        self, updates: int | None = None, episodes: int | None = None, tokens: int | None = None
    ) -> None:
        self.limits = {"updates": updates, "episodes": episodes, "tokens": tokens}
        for name, limit in self.limits.items():
            if limit is not None and limit < 1:
                raise ConfigError(f"Budget.{name} must be at least 1, or null, got {limit}.")

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop at once if a resumed run has nothing left."""
        self._check(trainer)

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Stop if this update was the last."""
        self._check(trainer)

    def _check(self, trainer: L.Trainer) -> None:
        costs = next((c for c in trainer.callbacks if isinstance(c, Costs)), None)  # pyright: ignore[reportAttributeAccessIssue]
        if costs is None:
            raise ConfigError("Budget reads what sampo.callbacks.Costs counts; add it before it.")
        used = {
            "updates": float(rollout_data(trainer).update),
            "episodes": costs.totals["episodes"],
            "tokens": costs.totals["sampled_tokens"],
        }
        if any(limit is not None and used[name] >= limit for name, limit in self.limits.items()):
            trainer.should_stop = True
