"""Context, positions, prompts and replies."""

import pytest
import torch

from doctor.conftest import MakeInputs
from doctor.sick_worlds import corridor
from sampo.doctor.check import Status
from sampo.doctor.lengths import Lengths
from sampo.rollout.engine import SamplingParams


def test_what_fits(make_inputs: MakeInputs) -> None:
    result = Lengths()(make_inputs(env=corridor()))
    assert result.status is Status.OK and "2048 positions" in result.detail


def test_a_context_beyond_the_models(make_inputs: MakeInputs) -> None:
    result = Lengths()(make_inputs(env=corridor(), context_length=2049))
    assert result.status is Status.FAILED and "2048" in result.fix


@pytest.mark.parametrize("which", ["sampling", "eval_sampling"])
def test_replies_that_do_not_fit(make_inputs: MakeInputs, which: str) -> None:
    params = {which: SamplingParams(max_new_tokens=190)}
    result = Lengths()(make_inputs(env=corridor(), context_length=200, **params))
    assert result.status is Status.FAILED
    assert f"data.{which}.max_new_tokens is 190" in result.detail
    # What the fix says is enough.
    needed = int(result.fix.split("--data.context_length ")[1].split()[0])
    for length, status in ((needed, Status.OK), (needed - 1, Status.FAILED)):
        again = make_inputs(env=corridor(), context_length=length, **params)
        assert Lengths()(again).status is status


def test_a_tokenizer_with_more_tokens_than_the_model(make_inputs: MakeInputs) -> None:
    inputs = make_inputs(env=corridor())
    head = inputs.policy.model.get_output_embeddings()
    head.weight = torch.nn.Parameter(head.weight[:200].detach())
    result = Lengths()(inputs)
    assert result.status is Status.FAILED and "knows 200" in result.detail
