"""One update behind: the same episodes by an older policy, corrected, and nothing else changed."""

from pathlib import Path

import lightning as L
import pytest
import torch

from sampo.callbacks import EpisodeWriter
from sampo.data.episode_log import read_episodes
from sampo.errors import ConfigError, EngineError
from sampo.losses import Clip, OffPolicyCorrection, PolicyLoss
from sampo.module import SampoModule
from sampo.rollout.transformers_engine import TransformersEngine
from tiny import save_tiny_policy
from training import make_data, make_module, make_trainer

LOSS = PolicyLoss(surrogate=Clip(clip_low=0.2, clip_high=0.2))


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


class Diary(L.Callback):
    """Notes of every update its batch, its staleness, and what was trained on."""

    def __init__(self) -> None:
        self.tokens: list[torch.Tensor] = []
        self.sampled: list[torch.Tensor] = []
        self.versions: list[int] = []
        self.staleness: list[float] = []
        self.values: list[dict[str, float]] = []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx) -> None:
        self.tokens.append(batch.token_ids)
        self.sampled.append(batch.sampling_logprobs)
        self.versions.append(batch.policy_version)
        self.values.append(pl_module.last_update.values)
        self.staleness.append(pl_module.last_update.values["staleness"])


def run(policy: str, folder: Path, staleness: int, callbacks=(), **settings):
    engine = TransformersEngine(own_weights=settings.pop("own_weights", True))
    data = make_data(policy, engine=engine, max_staleness=staleness, seed=1)
    module = make_module(policy, max_staleness=staleness, **settings)
    diary = Diary()
    trainer = make_trainer(folder, epochs=2, callbacks=[diary, *callbacks])
    trainer.fit(module, datamodule=data)
    return module, diary


def weights(module: SampoModule) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in module.policy.parameters()])


def test_staleness_0_with_own_weights_is_the_synchronous_loop(policy, tmp_path):
    there, diary = run(policy, tmp_path / "a", 0)
    here, other = run(policy, tmp_path / "b", 0, own_weights=False)
    assert torch.equal(weights(there), weights(here))
    assert diary.staleness == other.staleness == [0.0] * 6
    assert not torch.equal(weights(there), weights(make_loaded(policy)))


def make_loaded(policy: str) -> SampoModule:
    module = make_module(policy)
    module.configure_model()
    return module


def test_one_behind_is_by_the_policy_before(policy, tmp_path):
    module, diary = run(policy, tmp_path, 1)
    # The first rollout has no update before it.
    assert diary.versions == [0, 0, 1, 2, 3, 4]
    assert diary.staleness == [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert module.loss.correction == OffPolicyCorrection()
    # What was sampled is another policy's, and measured to be.
    assert diary.values[0]["sampling_logprob_diff_max"] < 1e-4
    assert diary.values[3]["sampling_logprob_diff_max"] > 1e-3
    assert diary.values[3]["correction_mean"] != 1.0
    assert diary.values[0]["correction_mean"] == pytest.approx(1.0, abs=1e-4)


def test_a_policy_that_does_not_change_plays_the_same_episodes(policy, tmp_path):
    """So tasks, seeds and order are those of the synchronous loop."""
    _, behind = run(policy, tmp_path / "a", 1, learning_rate=1e-30)
    _, beside = run(policy, tmp_path / "b", 0, learning_rate=1e-30)
    assert len(behind.tokens) == len(beside.tokens) == 6
    assert all(map(torch.equal, behind.tokens, beside.tokens))


def test_engine_log_probabilities_need_no_correction(policy, tmp_path):
    module, diary = run(policy, tmp_path, 1, old_logprobs="engine", loss=LOSS)
    assert module.loss.correction is None
    assert diary.values[3]["sampling_logprob_diff_max"] > 1e-3


def test_episodes_are_written_to_the_file_of_their_update(policy, tmp_path):
    run(policy, tmp_path, 1, callbacks=[EpisodeWriter()])
    (folder,) = tmp_path.glob("version_*/episodes")
    files = sorted(path.name for path in folder.glob("update_*.jsonl"))
    assert files == [f"update_{number:06d}.jsonl" for number in range(6)]
    for number, name in enumerate(files):
        records = read_episodes(folder / name)
        assert {record.update for record in records} == {number}
        assert {record.episode.policy_version for record in records} == {max(number - 1, 0)}


def test_an_engine_on_the_trainers_weights_is_refused(policy, tmp_path):
    with pytest.raises(ConfigError, match=r"data\.engine\.own_weights to true"):
        run(policy, tmp_path, 1, own_weights=False)


def test_a_rollout_that_is_too_old_is_refused(policy, tmp_path):
    data = make_data(policy, engine=TransformersEngine(own_weights=True), max_staleness=1)
    with pytest.raises(EngineError, match="version 0, but the policy is at version 1"):
        make_trainer(tmp_path, epochs=1).fit(make_module(policy), datamodule=data)


def test_a_run_goes_on_from_its_checkpoint(policy, tmp_path):
    run(policy, tmp_path, 1)
    (last,) = tmp_path.rglob("last.ckpt")
    data = make_data(policy, engine=TransformersEngine(own_weights=True), max_staleness=1)
    diary = Diary()
    trainer = make_trainer(tmp_path / "on", epochs=3, callbacks=[diary])
    trainer.fit(make_module(policy, max_staleness=1), datamodule=data, ckpt_path=last)
    assert diary.versions == [6, 6, 7]
    assert data.update == 9
