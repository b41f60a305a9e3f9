"""Behaviour cloning: the loss by hand, its invariances, and a clone that plays."""

import csv
import math
from typing import Any

import lightning as L
import pytest
import torch
from lightning.pytorch.loggers import CSVLogger
from transformers import AutoModelForCausalLM, AutoTokenizer

from sampo.advantages import GRPO
from sampo.callbacks.clone_export import CloneExport
from sampo.callbacks.clone_sync import CloneSync
from sampo.callbacks.episode_writer import EpisodeWriter
from sampo.callbacks.run_summary import RunSummary
from sampo.callbacks.throughput import Throughput
from sampo.cloning import CloningModule
from sampo.data.datamodule import RolloutDataModule
from sampo.data.demonstration_data import DemonstrationDataModule
from sampo.data.demonstrations import write_demonstrations
from sampo.data.settings import EvaluationSettings, WorkerSettings
from sampo.envs import Corridor
from sampo.errors import ConfigError, NonFiniteError
from sampo.filtering import SpreadFilter
from sampo.rollout.collector import EpisodeRequest
from sampo.rollout.conversation import TranscriptContext
from sampo.rollout.engine import SamplingParams
from sampo.rollout.scripted_engine import ScriptedEngine
from sampo.schedules import lr_factor
from tiny import save_tiny_policy, tiny_model, tiny_tokenizer

ENV = Corridor(length=5, max_turns=4)
VOCABULARY = len(tiny_tokenizer())


@pytest.fixture(scope="module")
def demonstrations(tmp_path_factory):
    """Return the path of expert episodes of all training tasks, and a tiny policy's folder."""
    folder = tmp_path_factory.mktemp("demos")
    policy = save_tiny_policy(folder / "policy")
    data = RolloutDataModule(
        env=ENV,
        tokenizer=policy,
        engine=ScriptedEngine(["unused"]),
        context=TranscriptContext(),
        advantage=GRPO(),
        group_filter=SpreadFilter(),
        workers=WorkerSettings(num_workers=0),
    )
    requests = [
        EpisodeRequest(task=task, env_seed=0, sampling_seed=0) for task in ENV.tasks("train")
    ]
    episodes = data.player.collector(data.player.demonstrator(0.0), SamplingParams()).run(requests)
    assert all(episode.success for episode in episodes)
    write_demonstrations(folder / "demos.parquet", episodes, policy="expert")
    data.teardown("collect")
    return str(folder / "demos.parquet"), policy


@pytest.fixture
def clone(tmp_path, demonstrations):
    """Return a function that clones and gives back (module, trainer, rows of metrics.csv)."""
    path, policy = demonstrations

    def run(*, epochs=1, callbacks=(), policy=policy, batch_episodes=4, **options):
        data = DemonstrationDataModule(
            demonstrations=path,
            env=ENV,
            tokenizer=policy,
            engine=ScriptedEngine(["<action>right</action>"]),
            context=TranscriptContext(),
            batch_episodes=batch_episodes,
            workers=WorkerSettings(num_workers=0),
            evaluation=EvaluationSettings(num_tasks=2),
            seed=0,
        )
        module = CloningModule(policy, **options)
        trainer = L.Trainer(
            accelerator="cpu",
            max_epochs=epochs,
            check_val_every_n_epoch=epochs,
            logger=CSVLogger(tmp_path, name="runs"),
            log_every_n_steps=1,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
            callbacks=[CloneSync(), *callbacks],
        )
        trainer.fit(module, datamodule=data)
        logger = trainer.logger
        assert isinstance(logger, CSVLogger)
        with (tmp_path / "runs" / f"version_{logger.version}" / "metrics.csv").open() as file:
            rows = [row for row in csv.DictReader(file) if row["train/nll"]]
        return module, trainer, rows

    return run


def test_a_uniform_policy_loses_the_log_of_the_vocabulary(clone, tmp_path):
    # With all weights zero every logit is zero, so every token costs ln V.
    model = tiny_model()
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    model.save_pretrained(tmp_path / "zero")
    tiny_tokenizer().save_pretrained(tmp_path / "zero")
    _, _, rows = clone(policy=str(tmp_path / "zero"), learning_rate=0.0, batch_episodes=100)
    assert float(rows[0]["train/nll"]) == pytest.approx(math.log(VOCABULARY), rel=1e-5)


def test_micro_batches_change_nothing(clone):
    _, _, rows = clone(epochs=2, learning_rate=1e-2, micro_batch_tokens=10**6)
    _, _, split_rows = clone(epochs=2, learning_rate=1e-2, micro_batch_tokens=1)
    assert float(rows[0]["train/grad_norm"]) == pytest.approx(
        float(split_rows[0]["train/grad_norm"]), rel=1e-4
    )
    assert float(rows[-1]["train/nll"]) == pytest.approx(
        float(split_rows[-1]["train/nll"]), rel=1e-3
    )


def test_the_clone_plays_and_is_a_hugging_face_folder(clone, tmp_path):
    _, trainer, rows = clone(epochs=70, learning_rate=1e-2, callbacks=[CloneExport()])
    assert float(rows[-1]["train/nll"]) < 0.1 < float(rows[0]["train/nll"])
    folder = tmp_path / "runs" / "version_0" / "hf"
    model: Any = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
    episode = data._episodes[0]
    prompt = torch.tensor([episode.turns[0].prompt_ids])
    written = model.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=40, do_sample=False
    )[0, prompt.shape[1] :]
    assert tuple(written.tolist()) == episode.turns[0].action_ids
    assert tokenizer.decode(written, skip_special_tokens=True) == episode.turns[0].reply


def test_validation_rolls_out_the_present_clone(clone):
    module, trainer, _ = clone(epochs=2)
    data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
    assert data.engine._version == module.update_step > 0
    assert 0.0 <= float(trainer.callback_metrics["eval/success_rate"]) <= 1.0
    assert float(trainer.callback_metrics["eval/episodes"]) == 2


def test_callbacks_of_a_run_serve_cloning_too(clone, tmp_path, capsys):
    callbacks = [EpisodeWriter(), Throughput(), RunSummary()]
    _, _, rows = clone(epochs=2, callbacks=callbacks)
    folder = tmp_path / "runs" / "version_0"
    names = sorted(path.name for path in (folder / "episodes").iterdir())
    assert names == ["validation_000000.jsonl", "validation_000002.jsonl"]
    assert float(rows[0]["time/trained_tokens_per_s"]) > 0
    assert "Finished after 2 updates." in capsys.readouterr().out


def test_the_learning_rate_rises_and_falls(clone):
    _, _, rows = clone(epochs=4, learning_rate=1.0e-3, warmup_fraction=0.5, batch_episodes=100)
    rates = [float(row["train/learning_rate"]) for row in rows]
    # Four steps: 1/3, 2/3, cos 0, cos pi/2 of the full rate.
    assert rates == pytest.approx([1e-3 / 3, 2e-3 / 3, 1e-3, 0.5e-3])


def test_schedule_without_warmup_starts_at_its_highest():
    assert lr_factor("cosine", 0, 10) == 1.0
    assert lr_factor("cosine", 10, 10) == pytest.approx(0.0)


def test_a_loss_that_is_not_finite_stops_the_run(clone, tmp_path):
    model = tiny_model()
    with torch.no_grad():
        next(model.parameters()).fill_(math.nan)
    model.save_pretrained(tmp_path / "nan")
    tiny_tokenizer().save_pretrained(tmp_path / "nan")
    with pytest.raises(NonFiniteError, match=r"Lower model\.learning_rate"):
        clone(policy=str(tmp_path / "nan"))


def test_warmup_is_a_share():
    with pytest.raises(ConfigError, match="warmup_fraction"):
        CloningModule("nano", warmup_fraction=1.0)
