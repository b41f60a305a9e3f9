"""The value head's loss by hand."""

from dataclasses import replace

import pytest
import torch

from sampo.errors import ConfigError
from sampo.losses import PolicyLoss, ValueLoss


def test_clipped_error_by_hand():
    """Target 1. A value that overshoots its range is charged for what the range allowed."""
    values = torch.tensor([0.5, 0.9, 0.0])
    old = torch.tensor([0.0, 0.0, 0.0])
    loss = ValueLoss(clip=0.2)(values, old, torch.ones(3))
    assert loss.tolist() == pytest.approx([0.32, 0.32, 0.5])  # (0.8^2, 0.8^2, 1) / 2
    free = ValueLoss(clip=None)(values, old, torch.ones(3))
    assert free.tolist() == pytest.approx([0.125, 0.005, 0.5])


def test_a_step_moves_values_to_their_targets():
    values = torch.zeros(3, requires_grad=True)
    ValueLoss()(values, torch.zeros(3), torch.tensor([1.0, -1.0, 0.0])).sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == [-1.0, 1.0, 0.0]


def test_it_is_weighted_into_the_objective(golden, planned):
    loss = PolicyLoss(kl_coef=0.0, value=ValueLoss(coef=0.5, clip=None))
    inputs = planned(loss, golden)
    plain = PolicyLoss(kl_coef=0.0)(inputs).loss
    zeros = torch.zeros_like(inputs.weights)
    with_head = replace(inputs, values=zeros + 3.0, old_values=zeros, returns=zeros + 1.0)
    output = loss(with_head)
    # Every error is 4 / 2, and the weights sum to one.
    assert (output.loss - plain).item() == pytest.approx(0.5 * 2.0)
    assert output.metrics["value_error"].value == pytest.approx(4.0)
    with pytest.raises(ConfigError, match="batch_advantage to GAE"):
        loss(inputs)
    with pytest.raises(ConfigError, match=r"set loss\.value to null"):
        ValueLoss(coef=0.0)
