"""An engine's copy in the trainer's process: renewed, compared, and put to sleep."""

from __future__ import annotations

import pytest
import torch

from sampo.errors import ConfigError, EngineError
from sampo.models.policy import Policy
from sampo.models.whole_weights import WholeCopy
from sampo.rollout.synced_copy import SyncedCopy
from tiny import tiny_model


def test_it_follows_the_policy_and_sleeps_in_between() -> None:
    policy, copy = Policy(tiny_model()), SyncedCopy(check_every=1)
    first = copy.renewed(policy, 0)
    policy.head_weight.data.mul_(2.0)
    assert not torch.equal(first.head_weight, policy.head_weight)
    copy.give_back()
    assert copy.asleep
    again = copy.renewed(policy, 1)
    assert again is first and not copy.asleep
    assert torch.equal(again.head_weight, policy.head_weight)


def test_a_copy_that_computes_something_else_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    take = WholeCopy.take

    def take_and_spoil(copy: WholeCopy, policy: Policy) -> None:
        take(copy, policy)
        copy.policy.model.model.layers[0].mlp.down_proj.weight.data.add_(1.0)

    monkeypatch.setattr(WholeCopy, "take", take_and_spoil)
    with pytest.raises(EngineError, match=r"After sync 3 .* probe's log-probabilities differ by"):
        SyncedCopy(check_every=1).renewed(Policy(tiny_model()), 3)


def test_once_trusted_it_is_compared_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    monkeypatch.setattr(
        "sampo.rollout.synced_copy.probe_gap", lambda *_: compared.append(version) or 0.0
    )
    policy, copy = Policy(tiny_model()), SyncedCopy(check_every=4)
    for version in range(9):
        copy.renewed(policy, version)
    assert compared == [0, 1, 2, 4, 8]
    with pytest.raises(ConfigError, match="check_every must be at least 1"):
        SyncedCopy(check_every=0)
