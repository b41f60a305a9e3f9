"""RLOO by hand."""

import pytest

from sampo.advantages import RLOO


def test_each_against_the_mean_of_the_others(make_group, make_episode):
    """Scores 9, 0, 3: the others of 9 have mean 1.5, those of 0 mean 6, those of 3 mean 4.5."""
    group = make_group(make_episode([9]), make_episode([0]), make_episode([3]))
    assert RLOO()(group) == [[7.5], [-6.0], [-1.5]]


def test_pools(make_group, make_episode):
    """Scores 9.9, 10 | 0. Over turns n = 3; first turns 9.9, 0: A = 2 (score - 4.95)."""
    group = make_group(make_episode([0, 10], penalties=[0.1, 0]), make_episode([0]))
    mean = 19.9 / 3
    assert RLOO()(group)[0] == pytest.approx([1.5 * (9.9 - mean), 1.5 * (10 - mean)])
    first = RLOO(baseline_over="first_turns")(group)
    assert first[0] == pytest.approx([9.9, 10.1])
    assert first[1] == pytest.approx([-9.9])


def test_a_group_of_one(annex_groups):
    assert RLOO()(annex_groups[1]) == [[0.0]]
    assert RLOO(singleton="score")(annex_groups[1]) == [[-0.1]]
