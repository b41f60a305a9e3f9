"""Where a launch keeps its files: curves, config, checkpoints, episodes.

One folder per launch, never an existing one, so that a second run in the same place overwrites
nothing. Everything that writes a file of a run asks here.
"""

from __future__ import annotations

import re
from pathlib import Path
from weakref import WeakKeyDictionary

import lightning as L
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

_folders: WeakKeyDictionary[L.Trainer, Path] = WeakKeyDictionary()
"""What was answered to each trainer: a trainer has one folder for as long as it lives."""


def runs_folder(trainer: L.Trainer) -> Path:
    """Return the folder that holds the run folders of this and of earlier launches.

    It need not exist. Nothing is made.
    """
    logger = trainer.logger
    if isinstance(logger, TensorBoardLogger | CSVLogger):
        return Path(logger.root_dir)
    save_dir = None if logger is None else logger.save_dir
    return Path(save_dir or trainer.default_root_dir)


def run_folder(trainer: L.Trainer) -> Path:
    """Return the folder of this launch, and make it on the first call.

    It is the `log_dir` of the first logger where that is a TensorBoard or CSV logger; these make a
    new `version_N` per launch. With another logger or none it is a new `version_N` in its
    `save_dir` or else in the trainer's `default_root_dir`.

    The first call of a trainer is collective: every rank has to make it, after the processes were
    launched (from `setup` on).
    """
    if trainer not in _folders:
        folder = _claim(trainer) if trainer.is_global_zero else Path()
        _folders[trainer] = Path(trainer.strategy.broadcast(str(folder)))
    return _folders[trainer]


def _claim(trainer: L.Trainer) -> Path:
    """Make the folder of this launch and return it."""
    logger = trainer.logger
    if isinstance(logger, TensorBoardLogger | CSVLogger):
        folder = Path(logger.log_dir)
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    root = runs_folder(trainer)
    root.mkdir(parents=True, exist_ok=True)
    names = [re.fullmatch(r"version_(\d+)", path.name) for path in root.iterdir()]
    number = max((int(name.group(1)) + 1 for name in names if name), default=0)
    while True:
        folder = root / f"version_{number}"
        try:
            folder.mkdir()
        except FileExistsError:  # another launch was faster
            number += 1
        else:
            return folder
