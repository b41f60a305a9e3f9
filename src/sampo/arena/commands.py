"""The command lines of a run: what anybody would type to repeat it alone."""

from __future__ import annotations

import math
import sys
from pathlib import Path

from sampo.arena.grid import Grid, RunSpec

_ENDLESS = 100_000
"""Epochs of a run that its budget ends."""


def fit_command(grid: Grid, run: RunSpec, folder: Path) -> list[str]:
    """Return the `sampo fit` of a run, which goes on where an earlier one stopped.

    Args:
        grid: the comparison.
        run: one of its runs.
        folder: the run's own.
    """
    budget, every = run.budget, grid.evaluate_every
    epochs = _ENDLESS if budget.updates is None else math.ceil(budget.updates / every)
    command = [sys.executable, "-m", "sampo", "fit"]
    for part in (run.environment, grid.common, run.method):
        command += part.arguments()
    command += [
        f"--seed_everything={run.seed}",
        f"--data.updates_per_epoch={every}",
        f"--trainer.max_epochs={epochs}",
        f"--trainer.logger.init_args.save_dir={folder}",
        "--trainer.logger.init_args.name=fit",
        "--trainer.callbacks+=sampo.callbacks.Budget",
    ]
    limits = {"updates": budget.updates, "episodes": budget.episodes, "tokens": budget.tokens}
    command += [
        f"--trainer.callbacks.init_args.{name}={value}"
        for name, value in limits.items()
        if value is not None
    ]
    if last_checkpoint(folder) is not None:
        command.append("--ckpt_path=last")
    return command


def test_command(folder: Path) -> list[str]:
    """Return the `sampo evaluate` of a finished run on the test tasks."""
    checkpoint = last_checkpoint(folder)
    assert checkpoint is not None, "a finished run without a checkpoint"
    return [
        *(sys.executable, "-m", "sampo", "evaluate"),
        f"--config={checkpoint.parents[1] / 'config.yaml'}",
        f"--ckpt_path={checkpoint}",
        "--split=test",
        f"--output={folder / 'test.json'}",
        f"--trainer.logger.init_args.save_dir={folder}",
        "--trainer.logger.init_args.name=test",
    ]


def versions(folder: Path) -> list[Path]:
    """Return the launches of a run, oldest first."""
    found = [path for path in (folder / "fit").glob("version_*") if path.is_dir()]
    return sorted(found, key=lambda path: int(path.name.removeprefix("version_")))


def last_checkpoint(folder: Path) -> Path | None:
    """Return the newest checkpoint of a run."""
    files = [path / "checkpoints" / "last.ckpt" for path in versions(folder)]
    return next((file for file in reversed(files) if file.is_file()), None)
