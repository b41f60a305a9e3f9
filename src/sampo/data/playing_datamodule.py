"""What DataModules have in common that evaluate by playing fixed tasks."""

from __future__ import annotations

from typing import Any

import lightning as L
import torch
from torch.utils.data import DataLoader

from sampo.batch import RolloutBatch
from sampo.data.player import EpisodePlayer
from sampo.episode import Episode
from sampo.rollout.chat import ChatRenderer
from sampo.rollout.engine import RolloutEngine


class PlayingDataModule(L.LightningDataModule):
    """Plays the fixed tasks of an evaluation; what is trained on is the subclass's business.

    Args:
        player: plays episodes.
    """

    def __init__(self, player: EpisodePlayer) -> None:
        super().__init__()
        self.player = player

    @property
    def engine(self) -> RolloutEngine:
        """The engine that writes the replies."""
        return self.player.engine

    @property
    def renderer(self) -> ChatRenderer:
        """The chat renderer, with its tokenizer."""
        return self.player.renderer

    def teardown(self, stage: str) -> None:
        """Close workers; the engine stays for the next stage."""
        self.player.close()

    def val_dataloader(self) -> DataLoader[list[Episode]]:
        """Return the fixed validation tasks as finished episodes."""
        return self.player.evaluation_loader("val")

    def test_dataloader(self) -> DataLoader[list[Episode]]:
        """Return the fixed test tasks as finished episodes."""
        return self.player.evaluation_loader("test")

    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Any:
        """Move rollout batches (frozen, so Lightning cannot); episodes stay where they are."""
        return batch.to(device) if isinstance(batch, RolloutBatch) else batch
