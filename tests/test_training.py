"""Whole training runs on a real environment with a real engine and policy."""

from pathlib import Path
from typing import Any

import lightning as L
import pytest

from sampo.batch import RolloutBatch
from sampo.envs.toy import Corridor
from sampo.errors import ConfigError
from sampo.rollout.conversation import TranscriptContext
from sampo.rollout.engine import SamplingParams
from tiny import save_tiny_policy
from training import AnythingGoes, make_data, make_module, make_trainer


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


class Watch(L.Callback):
    """Notes versions, mismatch, counters and evaluations."""

    def __init__(self) -> None:
        self.versions: list[tuple[int, int]] = []
        self.mismatch: list[float] = []
        self.evaluations: list[float] = []

    def on_train_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(batch, RolloutBatch)
        self.versions.append((batch.policy_version, pl_module.update_step))

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *args: Any) -> None:
        self.mismatch.append(float(trainer.callback_metrics["train/sampling_logprob_diff_max"]))

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self.evaluations.append(float(trainer.callback_metrics["eval/success_rate"]))


@pytest.mark.parametrize("context", ["window", "transcript"])
def test_every_batch_is_by_the_present_policy_and_scored_as_sampled(
    policy: str, tmp_path: Path, context: str
) -> None:
    watch = Watch()
    settings = {"context": TranscriptContext()} if context == "transcript" else {}
    data = make_data(policy, sampling=SamplingParams(max_new_tokens=3), **settings)
    make_trainer(tmp_path, epochs=2, callbacks=[watch]).fit(make_module(policy), datamodule=data)
    assert watch.versions == [(version, version) for version in range(6)]
    assert max(watch.mismatch) < 1e-4
    assert len(watch.evaluations) == 3  # before training and after each epoch


class OneWay(Corridor):
    """The door is always on the right."""

    def tasks(self, split: str) -> list[str]:
        return [task for task in ("0>5", "2>5") if split == "train" or task == "0>5"]


def test_it_learns(policy: str, tmp_path: Path) -> None:
    """A random policy goes right about every other time, and needs five in a row from cell 0."""
    watch = Watch()
    env = OneWay(length=6, max_turns=6, prompt_format=AnythingGoes())
    data = make_data(policy, env=env, updates_per_epoch=16, group_size=8)
    module = make_module(policy, learning_rate=1e-2)
    make_trainer(tmp_path, epochs=1, callbacks=[watch]).fit(module, datamodule=data)
    before, after = watch.evaluations
    assert before < 0.5
    assert after > 0.8


@pytest.mark.parametrize(
    "params", [SamplingParams(top_p=0.9), SamplingParams(top_k=5), SamplingParams(temperature=0.0)]
)
def test_training_on_a_truncated_distribution_is_refused(
    policy: str, tmp_path: Path, params: SamplingParams
) -> None:
    data = make_data(policy, sampling=params)
    with pytest.raises(ConfigError, match="policy's own distribution"):
        make_trainer(tmp_path, epochs=1).fit(make_module(policy), datamodule=data)


def test_without_weight_sync_the_first_rollout_fails_with_a_clear_error(
    policy: str, tmp_path: Path
) -> None:
    trainer = make_trainer(tmp_path, epochs=1)
    trainer.callbacks.pop(0)
    with pytest.raises(Exception, match=r"(?i)sync"):
        trainer.fit(make_module(policy), datamodule=make_data(policy))
