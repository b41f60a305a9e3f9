"""Means and maxima in parts."""

import pytest
import torch

from sampo.losses import Max, Mean, combine


def test_means_of_unequal_parts_add_up():
    # (1 + 2 + 6) / 3, whereas the mean of the two means would be (1.5 + 6) / 2.
    left = Mean.over(torch.tensor([1.0, 2.0, 99.0]), torch.tensor([True, True, False]))
    right = Mean.over(torch.tensor([6.0]), torch.tensor([True]))
    assert (left + right).value == 3.0


def test_nothing_counted():
    nothing = torch.zeros(2, dtype=torch.bool)
    assert Mean.over(torch.ones(2), nothing).value == 0.0
    assert Max.over(torch.ones(2), nothing).value == -torch.inf
    assert Max.over(torch.ones(0), nothing[:0]).value == -torch.inf


def test_metrics_carry_no_gradient():
    values = torch.ones(2, requires_grad=True)
    mean = Mean.over(values, torch.ones(2, dtype=torch.bool))
    assert not mean.total.requires_grad


def test_combine_keeps_names_of_either_side():
    def mean(value: float) -> Mean:
        return Mean(total=torch.tensor(value), weight=torch.tensor(1.0))

    top = Max(largest=torch.tensor(3.0))
    both = combine({"a": mean(1.0), "top": top}, {"a": mean(3.0), "b": mean(5.0), "top": top})
    assert {name: metric.value for name, metric in both.items()} == {
        "a": 2.0,
        "top": 3.0,
        "b": 5.0,
    }
    with pytest.raises(AssertionError, match="'a'"):
        combine({"a": mean(1.0)}, {"a": top})
