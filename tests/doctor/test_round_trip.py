"""What is saved, and what is lost on the way."""

import pytest
import torch

from doctor.conftest import MakeInputs
from sampo.doctor.check import Status
from sampo.doctor.round_trip import RoundTrip
from sampo.models.policy import Policy


def test_a_policy_that_survives(make_inputs: MakeInputs) -> None:
    inputs = make_inputs()
    with torch.no_grad():  # other weights than the ones at `model.policy`
        for parameter in inputs.policy.parameters():
            parameter.mul_(1.5)
    assert RoundTrip()(inputs).status is Status.OK
    assert not list(inputs.scratch.glob(".sampo-doctor-*"))


def test_a_folder_with_rounded_weights(
    make_inputs: MakeInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = Policy.save_pretrained

    def rounded(policy: Policy, folder: str, tokenizer: object) -> None:
        weights = {name: value.bfloat16() for name, value in policy.state_dict().items()}
        sound(policy, folder, tokenizer, state_dict=weights)

    monkeypatch.setattr(Policy, "save_pretrained", rounded)
    result = RoundTrip()(make_inputs())
    assert result.status is Status.FAILED and "Hugging Face folder" in result.detail


def test_a_checkpoint_with_old_weights(
    make_inputs: MakeInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = make_inputs()
    old = {name: value.clone() for name, value in inputs.module.state_dict().items()}
    with torch.no_grad():
        inputs.policy.head_weight.mul_(1.5)
    monkeypatch.setattr(inputs.module, "state_dict", lambda: old)
    result = RoundTrip()(inputs)
    assert result.status is Status.FAILED and result.detail.startswith("the checkpoint")


def test_a_model_that_loads_into_another_function(
    make_inputs: MakeInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = make_inputs()
    sound, ours = Policy.hidden_states, inputs.policy
    monkeypatch.setattr(
        Policy,
        "hidden_states",
        lambda policy, ids: sound(policy, ids) * (1.0 if policy is ours else 1.1),
    )
    result = RoundTrip()(inputs)
    assert result.status is Status.FAILED and "other log-probabilities" in result.detail
