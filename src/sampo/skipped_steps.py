"""Optimiser steps that are not taken because loss or gradient are not finite.

One such step is skipped, counted and its batch kept to be looked at; several in a row end the run.
"""

from __future__ import annotations

from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor

from sampo.batch import RolloutBatch
from sampo.errors import NonFiniteError


class SkippedSteps:
    """Counts skipped steps in a row.

    Args:
        most: how many in a row are borne.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.in_a_row = 0
        """Part of the checkpoint."""

    def taken(self) -> None:
        """Note a step that was taken."""
        self.in_a_row = 0

    def skip(self, batch: RolloutBatch, update: int, folder: Path, *, write: bool = True) -> None:
        """Note a step that was not taken.

        Args:
            batch: its mini-batch, written to `folder`.
            update: number of the update.
            folder: made if need be.
            write: whether the batch is written; one rank does so.

        Raises:
            NonFiniteError: it is one too many.
        """
        self.in_a_row += 1
        if write:
            folder.mkdir(parents=True, exist_ok=True)
            tensors = {name: v for name, v in vars(batch).items() if isinstance(v, Tensor)}
            save_file(
                {name: v.contiguous().cpu() for name, v in tensors.items()},
                folder / f"update_{update:06d}_{self.in_a_row}.safetensors",
            )
        if self.in_a_row > self._most:
            raise NonFiniteError(
                f"Loss or gradient were not finite in {self.in_a_row} optimiser steps in a row, "
                f"at update {update}. The batches are in {folder}. Lower model.learning_rate, or "
                "resume an earlier checkpoint with --ckpt_path."
            )
