"""Keeps the episodes of an evaluation for its report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lightning as L

from sampo.data.playing_datamodule import PlayingDataModule
from sampo.episode import Episode


class EpisodeKeeper(L.Callback):
    """Holds every episode that the validation or test loop has seen, in `episodes`.

    Those that have ended in a chunk which is not complete are in `ended`, too, for an evaluation
    that breaks off. It must be the last callback, because the data module tells one listener only:
    it passes on what it hears. Of several ranks each has all `episodes`, and its own `ended`.

    Args:
        at_start: called before anything is played, when all ranks are there.
    """

    def __init__(self, at_start: Callable[[], None] = lambda: None) -> None:
        self._at_start = at_start
        self.episodes: list[Episode] = []
        self.ended: list[Episode] = []

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Listen, in front of whoever listened before."""
        self._at_start()
        data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
        assert isinstance(data, PlayingDataModule)
        others = data.player.on_episode

        def hear(episode: Episode) -> None:
            self.ended.append(episode)
            others(episode)

        data.player.on_episode = hear

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
