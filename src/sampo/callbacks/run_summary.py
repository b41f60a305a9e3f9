"""The last words of a run: what came out, where everything is, what to do next."""

from __future__ import annotations

from pathlib import Path

import lightning as L
from rich.console import Console

from sampo.callbacks.progress import updates_done
from sampo.callbacks.run_folder import run_folder, runs_folder

METRIC = "eval/success_rate"


class RunSummary(L.Callback):
    """Prints one short summary at the end of a fit, finished or stopped with Ctrl-C.

    Names only what is there: a run without checkpoints gets no line about them.
    """

    def __init__(self) -> None:
        self._evaluations: list[tuple[int, float]] = []
        """(updates done, success rate on held-out tasks) of every evaluation of this launch."""

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Settle the run folder while all ranks are here."""
        run_folder(trainer)
        self._evaluations = []

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Remember an evaluation; the one before training too."""
        if METRIC in trainer.callback_metrics:
            success = float(trainer.callback_metrics[METRIC])
            self._evaluations.append((updates_done(trainer), success))

    def on_fit_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Print the summary of a finished run."""
        self._print(trainer, "Finished")

    def on_exception(
        self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException
    ) -> None:
        """Print the summary of a run that was stopped; a failed one ends with its error."""
        if isinstance(exception, KeyboardInterrupt) and trainer.state.fn == "fit":
            self._print(trainer, "Stopped")

    def teardown(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Forget the run."""
        self._evaluations = []

    def _print(self, trainer: L.Trainer, how: str) -> None:
        if not trainer.is_global_zero:
            return
        lines = [f"{how} after {updates_done(trainer)} updates.", *self._success()]
        lines += describe_folder(run_folder(trainer), runs_folder(trainer))
        Console().print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)

    def _success(self) -> list[str]:
        """Return the line about success on held-out tasks."""
        if not self._evaluations:
            return []
        (first, before), (last, after) = self._evaluations[0], self._evaluations[-1]
        if first == last:
            return [f"Success on held-out tasks: {after:.3f} (update {last})."]
        best_at, best = max(self._evaluations, key=lambda entry: entry[1])
        line = f"Success on held-out tasks: {before:.3f} (update {first}) -> {after:.3f} ({last})"
        return [line + (f", best {best:.3f} ({best_at})." if best > after else ".")]


def describe_folder(folder: Path, runs: Path) -> list[str]:
    """Return what a run folder holds, one line each, and the commands that use it.

    Args:
        folder: the run folder.
        runs: the folder of this and earlier runs, whose curves are shown together.
    """
    config, episodes, policy = folder / "config.yaml", folder / "episodes", folder / "hf"
    checkpoint = folder / "checkpoints" / "last.ckpt"
    curves = any(folder.glob("events.out.tfevents*"))
    present = [
        ("checkpoint", checkpoint, checkpoint.exists()),
        ("policy", policy, policy.is_dir()),
        ("config", config, config.is_file()),
        ("curves", folder, curves),
        ("episodes", episodes, episodes.is_dir()),
    ]
    lines = [f"  {name:<12}{path}" for name, path, there in present if there]
    commands: list[str] = []
    if curves or episodes.is_dir():
        commands.append(f"sampo view {folder}")
    if curves:
        commands.append(f"tensorboard --logdir {runs}")
    if checkpoint.exists() and config.is_file():
        use = f"--config {config} --ckpt_path {checkpoint}"
        commands += [
            f"sampo evaluate {use}",
            f"sampo export {use} --output {folder / 'exported'}",
        ]
    elif policy.is_dir():
        commands.append(f"sampo fit --config CONFIG --model.policy {policy}")
    if commands:
        lines += ["Next:", *(f"  {command}" for command in commands)]
    return lines
