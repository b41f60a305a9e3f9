"""Tokenizer and policy: what loads, and what is refused with a reason."""

from pathlib import Path

import pytest
import torch

from doctor.conftest import MakeInputs
from sampo.doctor.check import Status
from sampo.doctor.inputs import DoctorInputs
from sampo.doctor.loading import PolicyLoads, TokenizerLoads
from sampo.errors import CheckpointError, PolicyError
from tiny import tiny_model, tiny_tokenizer


def test_a_good_policy(make_inputs: MakeInputs) -> None:
    inputs = make_inputs(load=False)
    tokenizer, policy = TokenizerLoads()(inputs), PolicyLoads()(inputs)
    assert tokenizer.status is policy.status is Status.OK
    assert "<|im_end|>" in tokenizer.detail and "<|pad|>" in tokenizer.detail
    count = sum(parameter.numel() for parameter in inputs.policy.parameters())
    assert f"{count:,} parameters in float32 on cpu" in policy.detail


@pytest.mark.parametrize("missing", ["pad_token", "chat_template", "eos_token"])
def test_a_tokenizer_that_lacks_something(
    make_inputs: MakeInputs, tmp_path: Path, missing: str
) -> None:
    tiny_model().save_pretrained(tmp_path / "policy")
    tiny_tokenizer.cache_clear()
    tokenizer = tiny_tokenizer()
    setattr(tokenizer, missing, None)
    tokenizer.save_pretrained(tmp_path / "policy")
    tiny_tokenizer.cache_clear()
    inputs = make_inputs(load=False, source=str(tmp_path / "policy"))
    with pytest.raises(PolicyError, match=missing):
        TokenizerLoads()(inputs)


def checkpoint(inputs: DoctorInputs, folder: Path, scale: float) -> DoctorInputs:
    """Return inputs that take a checkpoint with scaled weights and a later version."""
    state = {name: value * scale for name, value in inputs.module.state_dict().items()}
    stored = {"state_dict": state, "hyper_parameters": dict(inputs.module.hparams)}
    inputs.module.update_step = 7
    inputs.module.on_save_checkpoint(stored)
    inputs.module.update_step = 0
    torch.save(stored, folder / "last.ckpt")
    return DoctorInputs(
        module=inputs.module,
        data=inputs.data,
        runs=inputs.runs,
        device=inputs.device,
        ckpt_path=str(folder / "last.ckpt"),
    )


def test_the_weights_of_a_checkpoint(make_inputs: MakeInputs, tmp_path: Path) -> None:
    inputs = make_inputs()
    before = inputs.policy.head_weight.clone()
    resumed = checkpoint(inputs, tmp_path, scale=2.0)
    assert PolicyLoads()(resumed).status is Status.OK
    assert torch.equal(resumed.policy.head_weight, before * 2)
    assert resumed.module.update_step == 7
    assert resumed.small_rollout.batch.policy_version == 7


def test_a_checkpoint_of_another_model(make_inputs: MakeInputs, tmp_path: Path) -> None:
    resumed = checkpoint(make_inputs(), tmp_path, scale=1.0)
    stored = torch.load(resumed.ckpt_path, weights_only=True)
    stored["state_dict"].pop("policy.model.model.norm.weight")
    torch.save(stored, resumed.ckpt_path)
    with pytest.raises(RuntimeError, match=r"norm\.weight"):
        PolicyLoads()(resumed)


def test_no_checkpoint(make_inputs: MakeInputs, tmp_path: Path) -> None:
    resumed = checkpoint(make_inputs(), tmp_path, scale=1.0)
    Path(resumed.ckpt_path).unlink()
    with pytest.raises(CheckpointError):
        PolicyLoads()(resumed)
