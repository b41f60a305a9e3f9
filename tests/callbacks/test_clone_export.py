"""The clone is kept as a Hugging Face folder, also when cloning was stopped."""

from types import SimpleNamespace
from typing import Any, cast

import lightning as L
import pytest

from sampo.callbacks.clone_export import CloneExport
from sampo.cloning import CloningModule
from sampo.data.demonstration_data import DemonstrationDataModule
from sampo.envs import Corridor
from sampo.rollout.conversation import WindowContext
from sampo.rollout.scripted_engine import ScriptedEngine
from tiny import save_tiny_policy


@pytest.fixture
def run(tmp_path):
    """Return (trainer that is not running, module, run folder)."""
    policy = save_tiny_policy(tmp_path / "policy")
    module = CloningModule(policy)
    module.configure_model()
    trainer = cast(
        Any,
        L.Trainer(
            default_root_dir=tmp_path / "runs",
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
        ),
    )
    data = DemonstrationDataModule(
        demonstrations="unused",
        env=Corridor(),
        tokenizer=policy,
        engine=ScriptedEngine(["x"]),
        context=WindowContext(),
    )
    trainer.datamodule = data
    return SimpleNamespace(
        trainer=trainer, module=module, hf=tmp_path / "runs" / "version_0" / "hf"
    )


def written(run):
    return run.hf.is_dir() and {path.name for path in run.hf.iterdir()}


def test_a_finished_clone_is_written_with_its_tokenizer(run):
    CloneExport().on_fit_end(run.trainer, run.module)
    assert written(run) >= {"config.json", "model.safetensors", "tokenizer.json"}


def test_a_stopped_clone_is_written_if_it_learned_anything(run):
    CloneExport().on_exception(run.trainer, run.module, KeyboardInterrupt())
    assert not written(run)
    run.module.update_step = 1
    CloneExport().on_exception(run.trainer, run.module, KeyboardInterrupt())
    assert written(run)


def test_a_failed_clone_is_not(run):
    run.module.update_step = 1
    CloneExport().on_exception(run.trainer, run.module, ArithmeticError())
    assert not written(run)
