"""Checkpoints from before the trouble: kept while a run is healthy, and put back from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightning as L
from lightning.pytorch.core.optimizer import LightningOptimizer
from lightning.pytorch.strategies import FSDPStrategy, ModelParallelStrategy

from sampo.callbacks.whole_files import save_checkpoint
from sampo.checkpoint import load_checkpoint
from sampo.errors import CheckpointError
from sampo.module import SampoModule

_KEPT = 4
"""Files that are kept, and the first one of the run besides."""


class HealthyCheckpoints:
    """The newest few checkpoints of a healthy run.

    Args:
        folder: where they are written, as `healthy_UPDATE.ckpt`.
        every: updates between two.
    """

    def __init__(self, folder: Path, *, every: int) -> None:
        self.folder = folder
        self.every = every
        self.rollbacks = 0
        """How often the run was put back."""

    def save(self, trainer: L.Trainer, update: int) -> None:
        """Write one; delete the oldest."""
        save_checkpoint(trainer, self.folder / f"healthy_{update:06d}.ckpt")
        for old in self.written()[1:-_KEPT]:
            if trainer.is_global_zero:
                old.unlink()

    def written(self) -> list[Path]:
        """Return the files, oldest first."""
        return sorted(self.folder.glob("healthy_[0-9]*.ckpt"))

    def restore(self, module: SampoModule, before: int) -> int:
        """Load the newest one of at most update `before`, or else the oldest; return its update.

        Newer ones are deleted: they belong to the course that went wrong. Every rank has to call
        it.
        """
        strategy = module.trainer.strategy
        found = {int(path.stem.rsplit("_", 1)[1]): path for path in self.written()}
        # Rank 0 says what there is: it deletes files, and another machine may see them later.
        files = strategy.broadcast(found)
        if not files:
            raise CheckpointError(f"There is no healthy checkpoint in {self.folder} to go back to.")
        update = max((number for number in files if number <= before), default=min(files))
        if isinstance(strategy, FSDPStrategy | ModelParallelStrategy):
            # These put weights and optimiser in place themselves.
            strategy.load_checkpoint(files[update], weights_only=True)
        else:
            checkpoint = load_checkpoint(files[update])
            module.load_state_dict(checkpoint["state_dict"])
            optimizer = module.optimizers()
            assert isinstance(optimizer, LightningOptimizer)
            optimizer.optimizer.load_state_dict(checkpoint["optimizer_states"][0])
        for number, path in files.items():
            if number > update and module.trainer.is_global_zero:
                path.unlink()
        self.rollbacks += 1
        return update

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run has to know."""
        return {"rollbacks": self.rollbacks}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore it."""
        self.rollbacks = state["rollbacks"]
