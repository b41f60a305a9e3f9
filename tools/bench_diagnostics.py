"""What watching costs, as a share of a training step: diagnostics, collapse detector, monitors.

    OMP_NUM_THREADS=1 python tools/bench_diagnostics.py

Real steps of the quickstart (rollout and update, nothing else). Timed are the metrics and the
token log of every micro-batch, their evaluation per cell, and the logging of all values; and the
callbacks that watch, each by itself.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from typing import Any

from sampo import callbacks
from sampo.cli import SampoCLI
from sampo.data.datamodule import RolloutDataModule
from sampo.losses import policy_loss
from sampo.module import SampoModule
from sampo.update_log import UpdateLog

ARGS = ["fit", "--config", "quickstart", "--trainer.logger.init_args.name", "bench"]
ARGS += ["--trainer.num_sanity_val_steps", "0", "--trainer.limit_val_batches", "0"]
ARGS += ["--trainer.max_epochs", "1", "--data.updates_per_epoch", "10"]

WATCHERS = ("CollapseDetector", "KLMonitor", "Costs", "SampleTexts", "EpisodeWriter")

seconds: dict[str, float] = defaultdict(float)


def timed(holder: Any, name: str, label: str) -> None:
    """Replace a function with one that adds its seconds to a label."""
    original = getattr(holder, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        try:
            return original(*args, **kwargs)
        finally:
            seconds[label] += time.perf_counter() - started

    setattr(holder, name, call)


def main() -> None:
    """Train ten updates and print the shares."""
    timed(policy_loss, "loss_metrics", "diagnostics")
    timed(policy_loss.TokenLog, "of", "diagnostics")
    timed(UpdateLog, "add", "diagnostics")
    timed(SampoModule, "_log_update", "diagnostics")
    timed(SampoModule, "training_step", "update")
    for name in WATCHERS:
        timed(getattr(callbacks, name), "on_train_batch_end", name)
    timed(callbacks.EpisodeWriter, "_add_to_stream", "EpisodeWriter")
    timed(callbacks.EpisodeWriter, "on_train_batch_start", "EpisodeWriter")
    timed(RolloutDataModule, "_next_batch", "rollout")
    SampoCLI([*ARGS, *sys.argv[1:]])
    step = seconds["update"] + seconds["rollout"]
    print(f"rollouts {seconds['rollout']:.1f} s, updates {seconds['update']:.1f} s")
    for name in ("diagnostics", *WATCHERS):
        print(f"{name} / (rollout + update): {seconds[name] / step:.4f}")
    print(f"diagnostics / update: {seconds['diagnostics'] / seconds['update']:.4f}")


if __name__ == "__main__":
    main()
