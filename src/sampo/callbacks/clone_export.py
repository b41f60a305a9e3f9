"""The clone as a Hugging Face folder: what reinforcement learning starts from."""

from __future__ import annotations

import lightning as L

from sampo.callbacks.policy_folder import write_policy
from sampo.callbacks.run_folder import run_folder
from sampo.cloning import CloningModule
from sampo.data.demonstration_data import DemonstrationDataModule


class CloneExport(L.Callback):
    """Writes the clone and its tokenizer to `hf/` in the run folder when cloning ends.

    Also when it is stopped with Ctrl-C, unless there are several ranks: what was learned so far is
    kept.
    """

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Settle the run folder while all ranks are here."""
        run_folder(trainer)

    def on_fit_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Write the finished clone."""
        self._write(trainer, pl_module)

    def on_exception(
        self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException
    ) -> None:
        """Write a clone that was stopped after its first step.

        Of several ranks none can tell whether the others were stopped at the same place.
        """
        assert isinstance(pl_module, CloningModule)
        stopped = isinstance(exception, KeyboardInterrupt) and trainer.world_size == 1
        if stopped and pl_module.update_step:
            self._write(trainer, pl_module)

    def _write(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
        assert isinstance(pl_module, CloningModule)
        assert isinstance(data, DemonstrationDataModule)
        assert pl_module.policy is not None
        write_policy(trainer, pl_module.policy, data.renderer.tokenizer)
