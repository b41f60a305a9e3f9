"""An experiment, measured before and after training, by the command line in its own processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def before_and_after(
    folder: Path, experiment: str, *options: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train what `configs/experiments/EXPERIMENT.yaml` says; return two reports of `evaluate`.

    Args:
        folder: where runs and reports go.
        experiment: its name.
        options: of all commands.
    """
    logs = f"--trainer.logger.init_args.save_dir={folder}"
    config = ["--config", f"experiments/{experiment}", *options, logs]
    before = evaluated(folder / "before.json", *config)
    _sampo("fit", *config)
    (run,) = {file.parents[1] for file in folder.glob("*/version_*/checkpoints/last.ckpt")}
    trained = ["--config", str(run / "config.yaml"), f"--ckpt_path={run}/checkpoints/last.ckpt"]
    return before, evaluated(folder / "after.json", *trained, logs)


def evaluated(report: Path, *options: str) -> dict[str, Any]:
    """Return the report of `sampo evaluate`, which it writes to a file."""
    _sampo("evaluate", *options, f"--output={report}")
    return json.loads(report.read_text())


def _sampo(*options: str) -> None:
    subprocess.run([sys.executable, "-m", "sampo", *options], check=True, capture_output=True)
