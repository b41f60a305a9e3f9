"""Keeps the episodes of an evaluation for its report."""

from __future__ import annotations

from typing import Any

import lightning as L

from sampo.episode import Episode


class EpisodeKeeper(L.Callback):
    """Holds every episode that the validation or test loop has seen, in `episodes`."""

    def __init__(self) -> None:
        self.episodes: list[Episode] = []

    def on_validation_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: list[Episode],
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Keep a chunk of validation episodes."""
        self.episodes.extend(batch)

    def on_test_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: list[Episode],
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Keep a chunk of test episodes."""
        self.episodes.extend(batch)
