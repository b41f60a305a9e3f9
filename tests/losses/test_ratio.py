"""The importance ratio at each level."""

import math

import pytest
import torch

from sampo.errors import ConfigError
from sampo.losses import Ratio


def test_turn_ratio_is_the_geometric_mean_with_gspo_gradient(batch_of):
    """Turn 0 has log-ratios 0.1 and 0.3: mean 0.2; turn 1 has -0.5 alone."""
    batch = batch_of([[0, 0, 1, -1]])
    log_ratio = torch.tensor([[0.1, 0.3, -0.5, 0.0]], dtype=torch.float64, requires_grad=True)
    weight = Ratio(level="turn")(log_ratio, batch)
    assert weight[0].tolist() == pytest.approx([0.2, 0.2, -0.5, 0.0])
    # d exp(weight_t) / d log_ratio_t = s on the token itself, nothing across tokens.
    (gradient,) = torch.autograd.grad(weight.exp()[0, 0], log_ratio)
    assert gradient[0].tolist() == pytest.approx([math.exp(0.2), 0.0, 0.0, 0.0])


def test_mean_over_the_segment_of_the_carrier_is_the_gradient_of_the_sequence_ratio(batch_of):
    batch = batch_of([[0, 0, 0]])
    log_ratio = torch.tensor([[0.1, 0.3, -0.7]], dtype=torch.float64, requires_grad=True)
    carried = Ratio(level="turn")(log_ratio, batch).exp().mean()
    direct = log_ratio.mean().exp()
    assert torch.allclose(carried, direct)
    for left, right in zip(
        torch.autograd.grad(carried, log_ratio),
        torch.autograd.grad(direct, log_ratio),
        strict=True,
    ):
        assert torch.allclose(left, right)


def test_product_instead_of_the_mean(batch_of):
    batch = batch_of([[0, 0]])
    weight = Ratio(level="turn", length_normalise=False)(torch.tensor([[0.1, 0.3]]), batch)
    assert weight[0].tolist() == pytest.approx([0.4, 0.4])


def test_episode_ratio_spans_rows_in_any_order(batch_of):
    # Episode 8: log-ratios 0.1, 0.5 in row 0 and 0.3 in row 2: mean 0.3. Episode 6: -0.2.
    batch = batch_of([[0, 0], [1, -1], [2, -1]], [[8, 8], [6, -1], [8, -1]])
    log_ratio = torch.tensor([[0.1, 0.5], [-0.2, 0.0], [0.3, 0.0]])
    weight = Ratio(level="episode")(log_ratio, batch)
    assert weight.flatten().tolist() == pytest.approx([0.3, 0.3, -0.2, 0.0, 0.3, 0.0])


def test_bounds_of_the_paper(batch_of):
    batch = batch_of([[0, 1]])
    extreme = torch.tensor([[500.0, -500.0]])
    assert Ratio(level="token")(extreme, batch).tolist() == [[20.0, -20.0]]
    assert Ratio(level="turn")(extreme, batch).tolist() == [[10.0, -500.0]]
    assert Ratio(level="turn", log_min=-3, log_max=2)(extreme, batch).tolist() == [[2.0, -3.0]]


def test_wrong_settings_say_what_to_do():
    with pytest.raises(ConfigError, match="token, turn, episode"):
        Ratio(level="sequence")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="log_min < 0 < log_max"):
        Ratio(log_max=-1.0)
