"""Alarms and actions in real small runs."""

import json
from pathlib import Path

import pytest
import torch

from sampo.callbacks import CollapseDetector
from sampo.callbacks.collapse_actions import (
    EnableSequenceMask,
    LowerLR,
    RaiseKL,
    Rollback,
    Save,
    Stop,
)
from sampo.collapse import Above
from sampo.data.episode_log import read_episodes
from sampo.errors import ConfigError
from sampo.losses import PolicyLoss, SequenceMask
from tiny import save_tiny_policy
from training import make_data, make_module, make_trainer

ALWAYS = [Above(signal="train/entropy", threshold=1e-9, window=1, confirm=1)]
FROM_THE_FOURTH = [Above(signal="train/entropy", threshold=1e-9, window=4, confirm=1)]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


def run(policy: str, folder: Path, *, updates: int = 3, module=None, **settings):
    """Train with a detector; return the module, the detector and the alarms."""
    detector = CollapseDetector(**{"rules": ALWAYS, **settings})
    module = module or make_module(policy)
    trainer = make_trainer(folder, epochs=1, callbacks=[])
    trainer.callbacks.insert(0, detector)
    trainer.fit(module, datamodule=make_data(policy, updates_per_epoch=updates))
    (path,) = folder.glob("version_*/alarms.jsonl")
    return module, detector, [json.loads(line) for line in path.read_text().splitlines()]


def test_an_alarm_is_told_and_written_with_its_episodes(
    policy: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        module, _, alarms = run(policy, tmp_path, num_episodes=5)
    (told,) = [text for text in caplog.messages if text.startswith("Update")]
    assert told.startswith("Update 1: warning. train/entropy: ")
    assert told.endswith(f"is above 1e-09. Episodes: {alarms[0]['episodes']}")
    (alarm,) = alarms
    assert (alarm["step"], alarm["stage"], alarm["action"]) == (1, "warning", "warned")
    assert alarm["value"] > alarm["threshold"] == 1e-9
    records = read_episodes(alarm["episodes"])
    assert len(records) == 5
    scores = [record.episode.score for record in records]
    assert scores == sorted(scores)
    assert module.update_step == 3


def test_stop_and_save(policy: str, tmp_path: Path) -> None:
    module, _, alarms = run(policy, tmp_path, on_warning=[Save(), Stop()])
    assert module.update_step == 1
    assert alarms[0]["action"] == "saved alarm_000001.ckpt, stopped"
    assert list(tmp_path.glob("version_*/checkpoints/alarm_000001.ckpt"))


def test_learning_rate_kl_and_mask_change_from_the_next_update_on(
    policy: str, tmp_path: Path
) -> None:
    actions = [LowerLR(factor=0.25), RaiseKL(factor=5.0), EnableSequenceMask(threshold=0.5)]
    module, _, _ = run(policy, tmp_path, updates=2, on_warning=actions)
    optimizer = module.optimizers()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.25 * 5e-3)
    assert module.scorer.loss.kl_coef == pytest.approx(0.05)
    assert module.scorer.loss.masking == SequenceMask(threshold=0.5)


def test_actions_are_repeated_while_the_stage_lasts(policy: str, tmp_path: Path) -> None:
    module, _, _ = run(
        policy, tmp_path, updates=5, on_warning=[LowerLR(factor=0.5)], repeat_after=2
    )
    assert module.controls.lr_scale == pytest.approx(0.125)  # updates 1, 3 and 5


def test_rollback_puts_weights_and_optimiser_back(policy: str, tmp_path: Path) -> None:
    """The alarm comes with update 4; the last checkpoint before it is that of update 2."""
    kept: dict[int, torch.Tensor] = {}
    module = make_module(policy)

    def weights() -> torch.Tensor:
        assert module.policy is not None
        return torch.cat([p.detach().flatten() for p in module.policy.parameters()])

    step = module.training_step

    def remember(batch, batch_idx):
        kept[module.update_step] = weights().clone()
        step(batch, batch_idx)

    module.training_step = remember  # pyright: ignore[reportAttributeAccessIssue]
    _, detector, alarms = run(
        policy,
        tmp_path,
        updates=5,
        module=module,
        rules=FROM_THE_FOURTH,
        on_warning=[Rollback(margin=1), LowerLR()],
        healthy_every=2,
    )
    # The next update has four values again: three healthy ones and its own.
    assert [alarm["step"] for alarm in alarms] == [4, 5]
    assert alarms[0]["action"] == "rolled back to update 2, learning rate x 0.5"
    assert torch.equal(kept[4], kept[2])
    assert not torch.equal(kept[3], kept[2])
    assert module.update_step == 5
    assert detector.healthy.rollbacks == 2
    names = sorted(path.name for path in detector.healthy.written())
    assert names == ["healthy_000000.ckpt", "healthy_000002.ckpt"]


def test_rollbacks_are_counted_and_end_the_run(policy: str, tmp_path: Path) -> None:
    _, detector, alarms = run(
        policy, tmp_path, updates=9, on_warning=[Rollback(at_most=2)], healthy_every=1
    )
    assert detector.healthy.rollbacks == 2
    assert [alarm["action"] for alarm in alarms] == [
        "rolled back to update 0",
        "rolled back to update 0",
        "stopped after 2 rollbacks",
    ]


def test_its_state_is_part_of_the_checkpoint(policy: str, tmp_path: Path) -> None:
    _, detector, _ = run(policy, tmp_path, on_warning=[LowerLR()], repeat_after=100)
    (path,) = tmp_path.glob("version_*/checkpoints/last.ckpt")
    resumed = CollapseDetector(rules=ALWAYS, on_warning=[LowerLR()], repeat_after=100)
    module = make_module(policy)
    trainer = make_trainer(tmp_path / "more", epochs=2, callbacks=[])
    trainer.callbacks.insert(0, resumed)
    trainer.fit(module, datamodule=make_data(policy), ckpt_path=str(path), weights_only=True)
    assert module.update_step == 6
    assert resumed.monitor.history["train/entropy"][:3] == detector.monitor.history["train/entropy"]
    assert module.controls.lr_scale == 0.5, "acted on once, before the resume"


def test_what_could_not_be_done_is_refused_before_the_run(policy: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.reference to true"):
        run(
            policy,
            tmp_path,
            module=make_module(policy, loss=PolicyLoss(kl_coef=0.0), reference=False),
            on_collapsed=[RaiseKL()],
        )
    detector = CollapseDetector(on_collapsed=[Rollback()])
    trainer = make_trainer(tmp_path, epochs=1, callbacks=[detector])
    with pytest.raises(ConfigError, match="before WeightSync"):
        trainer.fit(make_module(policy), datamodule=make_data(policy))
    for wrong in (
        lambda: CollapseDetector(agreeing=0),
        lambda: LowerLR(factor=2.0),
        lambda: RaiseKL(factor=0.5),
        lambda: Rollback(at_most=0),
    ):
        with pytest.raises(ConfigError, match="must"):
            wrong()
