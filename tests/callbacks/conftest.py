"""A real fit on the corridor with scripted replies, and a module that learns nothing."""

from pathlib import Path

import lightning as L
import pytest
import torch
from lightning.pytorch.callbacks import ProgressBar
from lightning.pytorch.loggers import CSVLogger

from sampo.advantages import GRPO
from sampo.data.datamodule import RolloutDataModule
from sampo.data.settings import EvaluationSettings, WorkerSettings
from sampo.envs import Corridor
from sampo.evaluation import EpisodeMetrics
from sampo.filtering import SpreadFilter
from sampo.rollout.conversation import WindowContext
from sampo.rollout.scripted_engine import ScriptedEngine
from tiny import save_tiny_policy

RIGHT, LEFT = "<action>right</action>", "<action>left</action>"


class Bystander(L.LightningModule):
    """Logs what SampoModule logs, as far as callbacks look at it, and trains nothing."""

    def __init__(self, fail_at=None):
        super().__init__()
        self.automatic_optimization = False
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.metrics = EpisodeMetrics()
        self.fail_at = fail_at
        self.steps = 0

    def training_step(self, batch, batch_idx):
        if self.steps == self.fail_at:
            raise KeyboardInterrupt
        self.steps += 1
        self.log("train/ref_kl", 0.0125)

    def validation_step(self, batch, batch_idx):
        self.metrics.update(batch)

    def on_validation_epoch_end(self):
        success = self.metrics.compute()["success_rate"]
        self.metrics.reset()
        if self.trainer.sanity_checking:
            self.trainer.callback_metrics["eval/success_rate"] = success
        else:
            self.log("eval/success_rate", success)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


@pytest.fixture(scope="session")
def policy_folder(tmp_path_factory):
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


@pytest.fixture
def data(policy_folder):
    """Two groups of two episodes per update, two updates per epoch, three validation tasks."""
    return RolloutDataModule(
        env=Corridor(length=7, max_turns=2),
        tokenizer=policy_folder,
        engine=ScriptedEngine([RIGHT, RIGHT, LEFT]),
        context=WindowContext(),
        advantage=GRPO(),
        group_filter=SpreadFilter(),
        groups_per_update=2,
        group_size=2,
        updates_per_epoch=2,
        max_filter_rounds=2,
        workers=WorkerSettings(num_workers=0, max_concurrent=2),
        evaluation=EvaluationSettings(num_tasks=3),
        seed=0,
    )


@pytest.fixture
def fit(tmp_path, data):
    """Return a function that fits and gives back the trainer."""

    def run(callbacks, *, module=None, max_epochs=2, **options) -> L.Trainer:
        options = {"logger": CSVLogger(tmp_path, name="runs"), **options}
        trainer = L.Trainer(
            default_root_dir=tmp_path,
            accelerator="cpu",
            max_epochs=max_epochs,
            num_sanity_val_steps=-1,
            log_every_n_steps=1,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=any(isinstance(entry, ProgressBar) for entry in callbacks),
            callbacks=callbacks,
            **options,
        )
        trainer.fit(module or Bystander(), datamodule=data)
        return trainer

    return run


@pytest.fixture
def run_path(tmp_path) -> Path:
    return tmp_path / "runs" / "version_0"
