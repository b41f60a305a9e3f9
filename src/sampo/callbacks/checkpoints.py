"""Checkpoints that a run can be continued from, also after Ctrl-C or a kill.

A checkpoint is a consistent cut between two updates: weights, optimiser, counters, task cursor and
random states. It is written under a temporary name and renamed, so `last.ckpt` is always whole.
"""

from __future__ import annotations

import random
import signal
from pathlib import Path
from types import FrameType
from typing import Any

import lightning as L
import torch
from lightning.pytorch.utilities import rank_zero_info

from sampo.callbacks.run_folder import run_folder
from sampo.errors import CheckpointError
from sampo.module import SampoModule


class Checkpoints(L.Callback):
    """Keeps `checkpoints/last.ckpt`, `best.ckpt`, and the policy as a Hugging Face folder.

    On Ctrl-C during a rollout the run ends at once; during an update it ends when the update is
    done (press again to end it there and then; the last checkpoint stays valid). Either way
    `last.ckpt` is written and the run can be continued with `--ckpt_path last`.

    Args:
        every_n_updates: how often `last.ckpt` is written.
        monitor: evaluation metric whose highest value makes `best.ckpt`; None keeps none.
        export: whether to write the policy as a Hugging Face folder when the run ends.
    """

    def __init__(
        self,
        every_n_updates: int = 1,
        monitor: str | None = "eval/success_rate",
        export: bool = True,
    ) -> None:
        self.every_n_updates = every_n_updates
        self.monitor = monitor
        self.export = export
        self.best: float | None = None
        self._interrupted = False
        self._previous_handler: Any = None

    def state_dict(self) -> dict[str, Any]:
        """Return the best value so far and the random states of this process."""
        version, internal, gauss = random.getstate()
        return {
            "best": self.best,
            "torch_rng": torch.get_rng_state(),
            "python_rng": [version, list(internal), gauss],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore them."""
        self.best = state_dict["best"]
        torch.set_rng_state(state_dict["torch_rng"])
        version, internal, gauss = state_dict["python_rng"]
        random.setstate((version, tuple(internal), gauss))

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Let Ctrl-C wait for the end of an update."""
        assert isinstance(pl_module, SampoModule)

        def handle(signum: int, frame: FrameType | None) -> None:
            if not pl_module.in_update or self._interrupted:
                raise KeyboardInterrupt
            self._interrupted = True
            rank_zero_info("Stopping after this update; press Ctrl-C again to stop now.")

        self._interrupted = False
        self._previous_handler = signal.signal(signal.SIGINT, handle)

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Write `last.ckpt` if it is due."""
        assert isinstance(pl_module, SampoModule)
        if self._interrupted or pl_module.update_step % self.every_n_updates == 0:
            self._save(trainer, "last.ckpt")
        if self._interrupted:
            raise KeyboardInterrupt

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Write `best.ckpt` after an evaluation that beats all before."""
        if trainer.sanity_checking or trainer.state.fn != "fit" or self.monitor is None:
            return
        value = trainer.callback_metrics.get(self.monitor)
        if value is None:
            known = ", ".join(sorted(trainer.callback_metrics))
            raise CheckpointError(
                f"Checkpoints.monitor names {self.monitor!r}, which is not logged. Logged: {known}."
            )
        if self.best is None or float(value) > self.best:
            self.best = float(value)
            self._save(trainer, "best.ckpt")

    def on_exception(
        self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException
    ) -> None:
        """Write `last.ckpt` when the run is broken off between two updates."""
        assert isinstance(pl_module, SampoModule)
        stopped = isinstance(exception, KeyboardInterrupt)
        if stopped and pl_module.update_step and not pl_module.in_update:
            path = self._save(trainer, "last.ckpt")
            rank_zero_info(f"Stopped at update {pl_module.update_step}; continue with {path}.")

    def on_fit_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Write the final checkpoint and the policy's Hugging Face folder."""
        assert isinstance(pl_module, SampoModule) and pl_module.policy is not None
        self._save(trainer, "last.ckpt")
        if self.export and trainer.is_global_zero:
            renderer = trainer.datamodule.renderer  # pyright: ignore[reportAttributeAccessIssue]
            pl_module.policy.save_pretrained(run_folder(trainer) / "hf", renderer.tokenizer)

    def teardown(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Give Ctrl-C back."""
        if self._previous_handler is not None:
            signal.signal(signal.SIGINT, self._previous_handler)
            self._previous_handler = None

    def _save(self, trainer: L.Trainer, name: str) -> Path:
        folder = run_folder(trainer) / "checkpoints"
        path, temporary = folder / name, folder / f".{name}.part"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            trainer.save_checkpoint(temporary, weights_only=False)
            if trainer.is_global_zero:
                temporary.replace(path)
        except OSError as error:
            raise CheckpointError(
                f"The checkpoint {path} could not be written ({error.strerror}); what was there "
                "before is untouched. Free some space or set another trainer.default_root_dir."
            ) from error
        return path
