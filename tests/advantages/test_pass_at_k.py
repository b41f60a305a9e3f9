"""Pass@k GRPO by hand."""

import pytest

from sampo.advantages import PassAtK


def test_only_the_best_earns_its_lead(make_group, make_episode):
    # 10, 4, 1: lead 6, mean 5, std sqrt((25 + 1 + 16) / 2) = 4.582576.
    group = make_group(make_episode([4]), make_episode([0, 10]), make_episode([1]))
    assert PassAtK(divide_by_std=False)(group) == [[0.0], [6.0, 6.0], [0.0]]
    assert PassAtK()(group)[1] == pytest.approx([6 / 4.582576] * 2, rel=1e-6)


def test_a_tie_for_the_best_and_a_group_of_one(make_group, make_episode):
    tie = make_group(make_episode([10]), make_episode([10]), make_episode([0]))
    assert PassAtK()(tie) == [[0.0], [0.0], [0.0]]
    assert PassAtK()(make_group(make_episode([10]))) == [[0.0]]
