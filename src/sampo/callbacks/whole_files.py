"""Checkpoint files that are whole or not there, whatever happens while they are written.

A file is written under a temporary name in its own folder, forced to the disk, and renamed; then
the folder is forced to the disk, too. Whoever finds the name finds a whole checkpoint. The callback
`Checkpoints` puts this in the place of Lightning's writer, which holds the file in memory first and
forces nothing to the disk.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.fabric.plugins import TorchCheckpointIO

from sampo.errors import CheckpointError


class WholeFileIO(TorchCheckpointIO):
    """Lightning's reader with a writer that a kill, a crash or a full disk cannot hurt."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any | None = None
    ) -> None:
        """Write a checkpoint; what was there before stays until the new file is whole.

        Args:
            checkpoint: what `torch.load(..., weights_only=True)` can read.
            path: local file; its folder is made if need be.
            storage_options: not used.

        Raises:
            CheckpointError: it could not be written. The earlier file is untouched.
        """
        path = Path(path)
        part = path.with_name(f".{path.name}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(checkpoint, part)
            part.replace(path)
            _force_to_disk(path.parent)
        except OSError as error:
            with suppress(OSError):  # the folder may be gone, or read-only
                part.unlink()
            raise CheckpointError(
                f"The checkpoint {path} could not be written ({error.strerror}); what was there "
                "before is untouched. Free some space or set another trainer.default_root_dir "
                "(trainer.logger.init_args.save_dir with a logger), and continue with "
                "--ckpt_path."
            ) from error


def save_checkpoint(trainer: L.Trainer, path: Path) -> None:
    """Write a checkpoint. Every rank has to call it.

    Args:
        trainer: of a running fit.
        path: the file.

    Raises:
        CheckpointError: on every rank, if rank 0 could not write it.
    """
    error: CheckpointError | None = None
    try:
        trainer.save_checkpoint(path, weights_only=False)
    except CheckpointError as failure:
        error = failure
        trainer.strategy.barrier("Trainer.save_checkpoint")  # the others wait there
    error = trainer.strategy.broadcast(error)
    if error is not None:
        raise error


def _write(checkpoint: dict[str, Any], part: Path) -> None:
    with part.open("wb") as file:
        try:
            torch.save(checkpoint, file)
        except RuntimeError as error:
            # torch ends its archive after a failed write, fails again, and raises that.
            if isinstance(error.__context__, OSError):
                raise error.__context__ from error
            raise
        file.flush()
        os.fsync(file.fileno())


def _force_to_disk(folder: Path) -> None:
    """Make a rename last: it is an entry of the folder, not of the file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
