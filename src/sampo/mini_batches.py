"""Which rows of a rollout each optimiser step is taken on."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from sampo.batch import RolloutBatch, shuffle_units, split_by_rows, split_evenly
from sampo.errors import ConfigError
from sampo.losses import Level


@dataclass(frozen=True, kw_only=True)
class MiniBatches:
    """How a rollout is split into optimiser steps."""

    number: int | None
    """Mini-batches per epoch, with equal numbers of units; None with `rows`, or for one."""
    rows: int | None
    """In place of `number`: rows per mini-batch (fewer where a unit would not fit, and in the last
    one)."""
    epochs: int
    """Passes over the rollout."""
    shuffle: bool
    """Whether units are shuffled before the split."""

    def __post_init__(self) -> None:
        """Refuse two answers to one question, and counts below 1."""
        if self.number is not None and self.rows is not None:
            raise ConfigError(
                "model.num_mini_batches and model.mini_batch_rows say the same thing in two ways; "
                "set one of them to null."
            )
        counts = {"num_mini_batches": self.number, "mini_batch_rows": self.rows}
        for name, count in {**counts, "epochs": self.epochs}.items():
            if count is not None and count < 1:
                raise ConfigError(f"model.{name} must be at least 1, got {count}.")

    def __call__(self, batch: RolloutBatch, together: Level, update: int) -> list[Tensor]:
        """Return the row indices of each optimiser step, over all epochs.

        Args:
            batch: the rollout.
            together: widest segment that must lie whole in one mini-batch.
            update: number of the update, from which the shuffling is seeded.
        """
        units = batch.units(together)
        steps: list[Tensor] = []
        for epoch in range(self.epochs):
            if self.shuffle:
                units = shuffle_units(units, update * self.epochs + epoch)
            if self.rows is None:
                steps += split_evenly(units, self.number or 1)
            else:
                steps += split_by_rows(units, self.rows)
        return steps
