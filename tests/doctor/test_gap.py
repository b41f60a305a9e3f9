"""Distances of log-probabilities, by hand."""

import math

import pytest
import torch

from sampo.doctor.gap import Gap, Tolerance, tolerance


def test_by_hand() -> None:
    one, other = torch.tensor([[0.0, -1.0, 9.0]]), torch.tensor([[0.0, -1.5, 0.0]])
    gap = Gap.between(one, other, torch.tensor([[True, True, False]]))
    assert gap.tokens == 2 and gap.max_diff == pytest.approx(0.5)
    assert gap.k3 == pytest.approx((math.exp(-0.5) + 0.5 - 1) / 2)
    assert gap.within(Tolerance(max_diff=0.6, k3=0.1))
    assert not gap.within(Tolerance(max_diff=0.4, k3=0.1))
    assert not gap.within(Tolerance(max_diff=0.6, k3=0.01))


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_what_is_not_finite_is_never_near(value: float) -> None:
    one, other = torch.tensor([[value]]), torch.tensor([[-1.0]])
    assert not Gap.between(one, other, torch.tensor([[True]])).within(
        Tolerance(max_diff=1e9, k3=1e9)
    )


def test_coarser_numbers_may_differ_more() -> None:
    order = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
    limits = [tolerance(dtype) for dtype in order]
    assert sorted(limits, key=lambda limit: limit.max_diff) == limits
    assert sorted(limits, key=lambda limit: limit.k3) == limits
