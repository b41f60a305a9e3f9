"""The progress of a run on the screen, or in a log file without flooding it."""

from __future__ import annotations

import math
import time
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import ProgressBar
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

SHORT_NAMES = {
    "rollout/success_rate": "success",
    "rollout/reward": "reward",
    "rollout/valid_action_rate": "valid",
    "train/nll": "nll",
    "train/ref_kl": "kl",
    "eval/success_rate": "eval",
}
"""What is shown, in this order, as far as it is logged: metric and short name."""


class RunProgress(ProgressBar):
    """One bar over all updates of the run, with the few numbers that say how it goes.

    On a terminal it is a bar. Elsewhere (a file, a pipe, a job's log) it is one line after the
    first update, then one every `seconds_between_lines`, and one after the last update and after
    each evaluation.

    `success`, `reward` and `valid` (share of valid actions) are of the latest rollout, `kl` is to
    the reference, `eval` is the success rate on held-out tasks at the latest evaluation.

    Args:
        seconds_between_lines: least time between two lines where the output is no terminal.
    """

    def __init__(self, seconds_between_lines: float = 30.0) -> None:
        super().__init__()
        self.seconds_between_lines = seconds_between_lines
        self._enabled = True
        self._console = Console()
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._last_line = -math.inf
        self._evaluation = ""

    def disable(self) -> None:
        """Show nothing (Lightning calls it on all ranks but the first)."""
        self._enabled = False

    def enable(self) -> None:
        """Show progress again."""
        self._enabled = True

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Print without breaking the bar."""
        if self._enabled:
            self._console.print(*args, markup=False, highlight=False, soft_wrap=True, **kwargs)

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Show the bar, at the update that a resumed run continues from."""
        self._last_line = -math.inf
        if self._enabled and self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=20),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[metrics]}"),
                console=self._console,
                auto_refresh=False,  # its thread would be alive while environments are forked
            )
            done, total = updates_done(trainer), _updates_in_all(trainer)
            self._task = self._bar.add_task("update", completed=done, total=total, metrics="")
            self._bar.start()
            self._bar.refresh()

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Show the update that is done."""
        done, total = updates_done(trainer), _updates_in_all(trainer)
        numbers = metrics_line(trainer)
        if self._bar is not None:
            self._bar.update(self._task, completed=done, metrics=numbers, refresh=True)
        elif time.monotonic() - self._last_line >= self.seconds_between_lines or done == total:
            self._last_line = time.monotonic()
            self.print(f"update {done}/{'?' if total is None else total}: {numbers}")

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Say that it is the evaluation that takes its time now."""
        if self._bar is not None:
            self._bar.update(self._task, description="evaluating", refresh=True)

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Show the evaluation."""
        if self._bar is not None:
            self._bar.update(
                self._task, description="update", metrics=metrics_line(trainer), refresh=True
            )
        elif "eval/success_rate" in trainer.callback_metrics and trainer.state.fn == "fit":
            success = float(trainer.callback_metrics["eval/success_rate"])
            self.print(f"evaluation after {updates_done(trainer)} updates: success {success:.3f}")

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Leave the finished bar on the screen."""
        self._stop()

    def on_exception(
        self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException
    ) -> None:
        """Give the terminal back."""
        self._stop()

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def updates_done(trainer: L.Trainer) -> int:
    """Return the number of training batches done in all, those before a resume included."""
    # Lightning declares the base class of the tracker, which lacks `processed`.
    total: Any = trainer.fit_loop.epoch_loop.batch_progress.total
    return total.processed


def metrics_line(trainer: L.Trainer) -> str:
    """Return the metrics of `SHORT_NAMES` that are logged, as `success 0.53  reward 1.2`."""
    logged = trainer.callback_metrics
    shown = [(short, float(logged[name])) for name, short in SHORT_NAMES.items() if name in logged]
    return "  ".join(f"{short} {value:.3g}" for short, value in shown)


def _updates_in_all(trainer: L.Trainer) -> int | None:
    """Return the number of updates of the whole run, or None where it has no end."""
    epochs, batches = trainer.max_epochs, trainer.num_training_batches
    if epochs is None or epochs < 0 or math.isinf(batches):
        return None
    return epochs * int(batches)
