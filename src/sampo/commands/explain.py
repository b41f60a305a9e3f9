"""`sampo explain`: what a config optimises, printed; nothing is loaded, played or written."""

from __future__ import annotations

import math
import sys

import lightning as L
from rich.console import Console

from sampo.data.datamodule import RolloutDataModule
from sampo.explain import Run, screen
from sampo.module import SampoModule


def explain(trainer: L.Trainer, model: SampoModule, datamodule: RolloutDataModule) -> None:
    """Print what the parts of a run optimise, cost and warn of.

    Args:
        trainer: says how long the run is.
        model: the module, its policy not loaded.
        datamodule: the data, nothing of it opened.

    Raises:
        ConfigError: a fit would refuse it, too.
    """
    datamodule.check_training(model.loss.correction)
    run = Run(model=model, data=datamodule, updates=updates_of(trainer, datamodule))
    console = Console(highlight=False)
    with console.capture() as text:
        console.print(screen(run))
    # Tables are filled up to the width; nobody wants that in a file.
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in text.get().splitlines()))


def updates_of(trainer: L.Trainer, datamodule: RolloutDataModule) -> int | None:
    """Return the most updates that a fit would do; None where only the user ends it."""
    epochs, limit = trainer.max_epochs, trainer.limit_train_batches
    if epochs is None or epochs < 0:
        return None
    per_epoch = datamodule.updates_per_epoch
    # Lightning's: an int is a number of batches, a float a share of them.
    wanted = limit if isinstance(limit, int) else math.floor(per_epoch * (limit or 1.0))
    return epochs * min(per_epoch, wanted)
