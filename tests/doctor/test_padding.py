"""Rows in different company, scored by sound and by unsound models."""

import pytest
import torch

from doctor.conftest import MakeInputs
from sampo.doctor.check import CheckResult, Status
from sampo.doctor.inputs import DoctorInputs
from sampo.doctor.padding import PaddedEqualsSingle
from sampo.doctor.probe import probe_batch
from sampo.models.policy import Policy


def test_a_sound_model(make_inputs: MakeInputs) -> None:
    result = PaddedEqualsSingle()(make_inputs())
    assert result.status is Status.OK and "6 rows" in result.detail


def test_the_probe_has_padding_to_be_seen(make_inputs: MakeInputs) -> None:
    batch = probe_batch(make_inputs())
    assert len(set(batch.lengths.tolist())) == len(batch)
    assert batch.action_mask.sum() == (batch.lengths - 1).sum()
    assert int(batch.lengths.max()) <= 200  # the context length of `make_data`


def examined(inputs: DoctorInputs, monkeypatch: pytest.MonkeyPatch, spoil: object) -> CheckResult:
    sound = Policy.hidden_states
    monkeypatch.setattr(Policy, "hidden_states", lambda policy, ids: spoil(sound(policy, ids), ids))
    return PaddedEqualsSingle()(inputs)


def test_a_model_that_sees_padding(
    make_inputs: MakeInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Looks at the last column, whatever stands there.
    result = examined(
        make_inputs(), monkeypatch, lambda hidden, ids: hidden + ids[:, -1, None, None] / 10
    )
    assert result.status is Status.FAILED and "limit" in result.detail


def test_a_model_whose_rows_leak(make_inputs: MakeInputs, monkeypatch: pytest.MonkeyPatch) -> None:
    result = examined(make_inputs(), monkeypatch, lambda hidden, _: hidden + hidden.mean(dim=0))
    assert result.status is Status.FAILED


def test_a_model_that_is_random(make_inputs: MakeInputs) -> None:
    inputs = make_inputs()
    for layer in inputs.policy.model.model.layers:
        layer.self_attn.attention_dropout = 0.5
    result = PaddedEqualsSingle()(inputs)
    assert result.status is Status.FAILED and "dropout" in result.fix


def test_a_model_of_nans(make_inputs: MakeInputs) -> None:
    inputs = make_inputs()
    with torch.no_grad():
        inputs.policy.head_weight.fill_(torch.nan)
    assert PaddedEqualsSingle()(inputs).status is Status.FAILED
