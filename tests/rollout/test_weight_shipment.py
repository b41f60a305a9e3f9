"""Weights on their way to another process, and the proof that they arrived."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from sampo.errors import EngineError
from sampo.models.policy import Policy
from sampo.rollout import weight_shipment
from sampo.rollout.weight_proof import (
    check_arrival,
    checksum,
    probe,
    probe_gap,
    probe_limit,
    probe_logprobs,
)
from sampo.rollout.weight_shipment import WeightShipment, end_ids, read_weights
from tiny import tiny_model, tiny_tokenizer


@pytest.fixture
def policy() -> Policy:
    return Policy(tiny_model())


@pytest.fixture
def shipment(tmp_path: Path) -> Iterator[WeightShipment]:
    made = WeightShipment(str(tmp_path))
    yield made
    made.close()


def test_the_files_hold_the_policy_under_published_names(policy: Policy, shipment, tmp_path: Path):
    """A tied head is written once; the folder is one that transformers loads."""
    with shipment.of(policy, tiny_tokenizer()) as sums:
        read = dict(read_weights(shipment.folder))
        assert (shipment.folder / "config.json").is_file()
        assert (shipment.folder / "tokenizer.json").is_file()
    own = policy.model.state_dict()
    assert "lm_head.weight" in own and "lm_head.weight" not in read
    assert read.keys() == sums.keys() == own.keys() - {"lm_head.weight"}
    for name, tensor in read.items():
        assert torch.equal(tensor, own[name])
        assert sums[name] == checksum(own[name])
    assert not list(shipment.folder.glob("*.safetensors"))
    shipment.close()
    assert not list(tmp_path.iterdir())


def test_a_checksum_is_the_sum_of_bits():
    """1.0 is 0x3F800000 in float32 and 0x3F80 in bfloat16; -0.0 differs from 0.0."""
    assert checksum(torch.ones(2, 3)) == 6 * 0x3F800000
    assert checksum(torch.ones(3, dtype=torch.bfloat16)) == 3 * 0x3F80
    assert checksum(torch.zeros(3)) == 0 != checksum(-torch.zeros(3))
    assert checksum(torch.tensor([math.nan])) == checksum(torch.tensor([math.nan]))
    assert checksum(torch.arange(6.0).view(2, 3).t()) == checksum(torch.arange(6.0))


def test_another_policy_is_refused(policy: Policy, shipment):
    with shipment.of(policy):
        pass
    policy.model.model.layers = policy.model.model.layers[:1]
    with pytest.raises(EngineError, match=r"missing: \['model.layers.1"), shipment.of(policy):
        pass


def test_no_room_is_said_before_it_runs_out(policy: Policy, shipment, monkeypatch):
    monkeypatch.setattr(weight_shipment.shutil, "disk_usage", lambda _: _Usage(free=1000))
    with pytest.raises(EngineError, match=r"transfer_folder.*shm-size"), shipment.of(policy):
        pass


class _Usage:
    def __init__(self, free: int) -> None:
        self.free = free


def test_a_missing_folder_is_named(tmp_path: Path):
    with pytest.raises(EngineError, match=r"no folder .*nowhere"):
        WeightShipment(str(tmp_path / "nowhere"))


def test_the_probe_is_scored_as_a_plain_forward_pass_scores_it(policy: Policy):
    policy.train()
    ids = torch.tensor([probe(policy)])
    assert len(set(ids[0].tolist())) == 64 and int(ids.max()) < policy.model.config.vocab_size
    with torch.no_grad():
        plain = policy.model(input_ids=ids).logits.log_softmax(-1)
    expected = plain[0, :-1].gather(-1, ids[0, 1:, None]).squeeze(-1)
    assert torch.allclose(probe_logprobs(policy).float(), expected, atol=1e-5)
    assert policy.training


def test_a_changed_weight_opens_a_gap(policy: Policy):
    before = probe_logprobs(policy)
    assert probe_gap(before, before.tolist()) == 0
    with torch.no_grad():
        policy.model.model.embed_tokens.weight.mul_(3.0)
    gap = probe_gap(before, probe_logprobs(policy).tolist())
    assert gap > probe_limit(policy, "torch.float32")
    assert probe_limit(policy, "torch.bfloat16") > probe_limit(policy, "torch.float32")


def test_the_ends_of_a_reply_are_the_models_and_the_tokenizers(policy: Policy):
    policy.model.generation_config.eos_token_id = [5, 9]
    eos = tiny_tokenizer().eos_token_id
    assert end_ids(policy, None) == [5, 9]
    assert end_ids(policy, tiny_tokenizer()) == sorted({5, 9, eos})
    policy.model.generation_config.eos_token_id = None
    assert end_ids(policy, None) == []


FINE: dict[str, Any] = {
    "sent": {"a": 1, "b": 2},
    "received": [{"a": 1, "b": 2}],
    "gap": 1e-6,
    "limit": 1e-3,
    "differing": lambda: [],
    "thorough": True,
}


def test_what_arrived_passes():
    check_arrival(4, **FINE)
    check_arrival(4, **{**FINE, "thorough": False, "differing": lambda: ["asked"]})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"received": [{"a": 1, "b": 2}, {"a": 1, "b": 3}]}, "checksums .*at fault: b"),
        ({"received": [{"a": 1}]}, "checksums .*at fault: b"),
        ({"received": [{"a": 1, "b": 2, "c": 0}]}, "checksums .*at fault: c"),
        ({"gap": 0.5, "differing": lambda: ["b"]}, "differ by 0.5 .*limit 0.001.*at fault: b"),
        ({"gap": math.nan}, "differ by nan .*could not be told"),
        ({"differing": lambda: list("abcdefghij")}, "does not compute.* a, b.* h and 2 more"),
    ],
)
def test_what_did_not_arrive_is_named(changes: dict[str, Any], message: str):
    with pytest.raises(EngineError, match=f"After sync 4 .*{message}"):
        check_arrival(4, **{**FINE, **changes})


def test_a_corrupted_file_is_seen(policy: Policy, shipment):
    """One bit of one tensor, changed between writing and reading."""
    with shipment.of(policy) as sent:
        file = next(shipment.folder.glob("*.safetensors"))
        tensors = dict(read_weights(shipment.folder))
        tensors["model.norm.weight"].view(torch.int32)[3] ^= 1
        save_file(tensors, file)
        received = {name: checksum(tensor) for name, tensor in read_weights(shipment.folder)}
    with pytest.raises(EngineError, match=r"at fault: model.norm.weight"):
        check_arrival(1, **{**FINE, "sent": sent, "received": [received]})
