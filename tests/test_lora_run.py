"""A training run with adapters: what is trained, kept, continued, exported and shipped."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from sampo.checkpoint import export_policy, load_checkpoint
from sampo.errors import CheckpointError
from sampo.models.lora import LoRA
from sampo.models.policy import Policy
from sampo.module import SampoModule
from sampo.rollout.weight_proof import probe_logprobs
from sampo.rollout.weight_shipment import WeightShipment, read_weights
from tiny import save_tiny_policy
from training import make_data, make_module, make_trainer

SMALL = LoRA(r=4, alpha=8.0)


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


def run(
    policy: str, folder: Path, *, epochs: int, ckpt_path: str | None = None, **settings: object
) -> SampoModule:
    torch.manual_seed(11)
    module = make_module(policy, **{"lora": SMALL, **settings})
    make_trainer(folder, epochs=epochs).fit(
        module, datamodule=make_data(policy), ckpt_path=ckpt_path
    )
    return module


@pytest.fixture(scope="module")
def unbroken(policy: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SampoModule]:
    folder = tmp_path_factory.mktemp("unbroken")
    return folder / "version_0", run(policy, folder, epochs=2)


def test_only_the_adapters_move_and_are_kept(
    policy: str, unbroken: tuple[Path, SampoModule]
) -> None:
    folder, module = unbroken
    base = AutoModelForCausalLM.from_pretrained(policy).state_dict()
    assert module.policy is not None
    now = module.policy.model.state_dict()
    for name, tensor in now.items():
        if "lora_" not in name:
            assert torch.equal(tensor, base[name.replace(".base_layer", "")])
    assert any(bool(tensor.any()) for name, tensor in now.items() if "lora_B" in name)
    checkpoint = load_checkpoint(folder / "checkpoints" / "last.ckpt")
    assert checkpoint["state_dict"] and all("lora_" in key for key in checkpoint["state_dict"])
    moments = checkpoint["optimizer_states"][0]["state"]
    assert len(moments) == len(checkpoint["state_dict"])


def test_a_resumed_run_equals_the_unbroken_one(
    policy: str, unbroken: tuple[Path, SampoModule], tmp_path: Path
) -> None:
    run(policy, tmp_path, epochs=1)
    resumed = run(policy, tmp_path, epochs=2, ckpt_path="last")
    weights, expected = resumed.state_dict(), unbroken[1].state_dict()
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)


def test_export_and_the_runs_folder_hold_the_merged_policy(
    unbroken: tuple[Path, SampoModule], tmp_path: Path
) -> None:
    folder, module = unbroken
    assert module.policy is not None
    trained = probe_logprobs(module.policy)
    exported = export_policy(folder / "checkpoints" / "last.ckpt", tmp_path / "hf")
    for path in (exported, folder / "hf"):
        plain = Policy(AutoModelForCausalLM.from_pretrained(path))
        torch.testing.assert_close(probe_logprobs(plain), trained, rtol=0, atol=1e-5)


def test_an_engine_is_shipped_the_merged_weights_under_the_bases_names(
    policy: str, unbroken: tuple[Path, SampoModule]
) -> None:
    module = unbroken[1]
    assert module.policy is not None
    shipment = WeightShipment(None)
    with shipment.of(module.policy) as sums:
        assert set(sums) == {name for name, _ in read_weights(Path(policy))}
        plain = Policy(AutoModelForCausalLM.from_pretrained(shipment.folder))
        gap = (probe_logprobs(plain) - probe_logprobs(module.policy)).abs().max()
    shipment.close()
    assert gap < 1e-5


def test_the_kl_is_measured_from_the_base(unbroken: tuple[Path, SampoModule]) -> None:
    module = unbroken[1]
    assert module.scorer.reference is not None and module.scorer.reference.model is None
    assert module.last_update is not None and module.last_update.values["ref_kl"] > 0


def test_checkpoints_with_and_without_adapters_do_not_mix(
    policy: str, unbroken: tuple[Path, SampoModule], tmp_path: Path
) -> None:
    last = str(unbroken[0] / "checkpoints" / "last.ckpt")
    with pytest.raises(CheckpointError, match=r"Set model\.lora as it was"):
        run(policy, tmp_path, epochs=2, ckpt_path=last, lora=None)


def test_packed_rows_train_the_same(
    policy: str, unbroken: tuple[Path, SampoModule], tmp_path: Path
) -> None:
    """Other sums of the same numbers: one update, then sampled tokens may part."""
    module = run(policy, tmp_path, epochs=1, packing=True, lora=None, num_mini_batches=1)
    padded = run(policy, tmp_path, epochs=1, packing=False, lora=None, num_mini_batches=1)
    assert module.policy is not None and module.policy.packed
    assert module.scorer.reference is not None and module.scorer.reference.model is not None
    assert module.scorer.reference.model.packed
    weights, expected = module.state_dict(), padded.state_dict()
    for name, tensor in expected.items():
        torch.testing.assert_close(weights[name], tensor, rtol=1e-3, atol=1e-4)
