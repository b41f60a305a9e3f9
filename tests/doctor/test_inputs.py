"""What checks share."""

from dataclasses import replace

import pytest
import torch
from lightning.pytorch.plugins.precision import HalfPrecision, MixedPrecision

from doctor.conftest import MakeInputs
from doctor.sick_worlds import corridor
from sampo.doctor.loading import PolicyLoads
from sampo.doctor.probe import probe_batch


def test_requests_are_the_runs_first_tasks(make_inputs: MakeInputs) -> None:
    inputs = make_inputs(load=False, env=corridor())
    source = inputs.data.player.source("train")
    assert [r.task for r in inputs.requests(2)] == [source.task(0), source.task(1)]
    assert len(inputs.requests(1000)) == len(source)


@pytest.mark.parametrize("precision", ["bf16-mixed", "16-mixed"])
def test_mixed_precision_is_scored_as_in_training(make_inputs: MakeInputs, precision: str) -> None:
    exact = make_inputs()
    scaler = None if precision == "bf16-mixed" else torch.amp.GradScaler("cpu")
    mixed = replace(exact, precision=MixedPrecision(precision, "cpu", scaler))
    assert mixed.dtype in (torch.bfloat16, torch.float16) and exact.dtype == torch.float32
    batch = probe_batch(exact)
    rounded = mixed.logprobs(mixed.policy, batch)
    gap = (rounded - exact.logprobs(exact.policy, batch)).abs().max()
    assert 0 < gap < 0.5


def test_half_precision_converts_the_policy(make_inputs: MakeInputs) -> None:
    inputs = replace(make_inputs(load=False), precision=HalfPrecision("bf16-true"))
    PolicyLoads()(inputs)
    assert inputs.dtype == torch.bfloat16 == inputs.policy.head_weight.dtype
