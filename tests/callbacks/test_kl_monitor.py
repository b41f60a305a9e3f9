"""KL by turn and by sign, by hand; the stop in a real run."""

import math
from pathlib import Path

import pytest
import torch

from sampo.callbacks import KLMonitor
from sampo.callbacks.kl_monitor import kl_values, steer_kl
from sampo.errors import ConfigError
from sampo.losses import AdaptiveKL, PolicyLoss, TokenLog
from tiny import save_tiny_policy
from training import make_data, make_module, make_trainer


def test_values_by_hand():
    """Turns 0 and 1 of one episode and turn 0 of another; the last has one token."""
    log_ratio = torch.tensor([0.5, 0.0, -0.5, 0.0])
    never = torch.zeros(4, dtype=torch.bool)
    log = TokenLog(
        turn=torch.tensor([0, 0, 1, 2]),
        advantages=torch.tensor([1.0, 1.0, -1.0, 0.0]),
        old_logprobs=torch.full((4,), -1.0),
        log_ratio=log_ratio,
        log_weight=log_ratio,
        in_range=log_ratio,
        clipped=never,
        clipped_lower=never,
        kept=~never,
        ref_log_ratio=torch.tensor([1.0, 0.0, 0.0, 0.0]),
    )
    values = kl_values(log, torch.tensor([0, 1, 0]), max_turns=5)
    assert values["kl/ref_k1"] == pytest.approx(0.25)
    assert values["kl/ref_k3"] == pytest.approx((math.exp(-1) - 1 + 1) / 4)
    assert values["kl/ref_k1/positive"] == pytest.approx(0.5)
    assert values["kl/ref_k1/negative"] == 0.0
    # Of the old policy's samples: log pi_old - log pi_new.
    assert values["kl/update_k1"] == pytest.approx(0.0)
    assert values["kl/update_k1/turn_00"] == pytest.approx(-0.5 / 3)
    assert values["kl/update_k1/turn_01"] == pytest.approx(0.5)
    assert values["kl/update_k3/turn_01"] == pytest.approx(math.exp(-0.5) - 1 + 0.5)
    assert "kl/ref_k1/turn_02" not in values
    late = kl_values(log, torch.tensor([0, 7, 0]), max_turns=2)
    assert late["kl/update_k1/turn_01"] == pytest.approx(0.5)


def test_a_run_that_goes_too_far_is_stopped(tmp_path: Path) -> None:
    policy = save_tiny_policy(tmp_path / "policy")
    module = make_module(policy)
    trainer = make_trainer(tmp_path, epochs=1, callbacks=[KLMonitor(stop_above=1e-12)])
    with pytest.warns(UserWarning, match=r"Stopped: kl/ref_k3 was above 1e-12"):
        trainer.fit(module, datamodule=make_data(policy, updates_per_epoch=9))
    assert module.update_step == 3
    with pytest.raises(ConfigError, match=r"model\.reference to true"):
        trainer = make_trainer(tmp_path, epochs=1, callbacks=[KLMonitor(stop_above=1.0)])
        bare = make_module(policy, loss=PolicyLoss(kl_coef=0.0), reference=False)
        trainer.fit(bare, datamodule=make_data(policy))


def test_a_target_steers_the_coefficient(tmp_path: Path) -> None:
    policy = save_tiny_policy(tmp_path / "policy")
    module = make_module(policy)
    trainer = make_trainer(tmp_path, epochs=1, callbacks=[KLMonitor(target=1e-9)])
    trainer.fit(module, datamodule=make_data(policy, updates_per_epoch=2))
    assert module.controls.kl_coef is not None and module.controls.kl_coef > 0.01
    with pytest.raises(ConfigError, match="which is 0"):
        steer_kl(make_module(policy, loss=PolicyLoss(kl_coef=0.0)), AdaptiveKL(target=0.1))
    with pytest.raises(ConfigError, match="set one"):
        steer_kl(module, AdaptiveKL(target=0.5))
