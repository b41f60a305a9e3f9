"""Scores, returns and pools by hand."""

import math

import pytest

from sampo.advantages.base import Pool, step_returns, turn_scores


def test_a_penalty_is_local_to_its_turn(make_group, make_episode):
    group = make_group(make_episode([0, 0, 10], penalties=[0, 0.1, 0]))
    assert turn_scores(group) == [[10, 9.9, 10]]


def test_step_returns_discount_rewards_but_not_penalties(make_episode):
    # Backward: 10; 0 + 0.95 * 10 = 9.5, minus 0.1; 1 + 0.95 * 9.5 = 10.025.
    episode = make_episode([1, 0, 10], penalties=[0, 0.1, 0])
    assert step_returns(episode, 0.95) == pytest.approx([10.025, 9.4, 10])


def test_pool_is_unbiased_and_ignores_what_is_not_finite():
    # 1, 3, 5: mean 3, squares 4 + 0 + 4 over 2.
    pool = Pool.of([1.0, math.nan, 3.0, math.inf, 5.0])
    assert (pool.size, pool.mean, pool.std) == (3, 3.0, 2.0)
    assert pool.centre(5.0, divide_by_std=True) == pytest.approx(1.0, abs=1e-6)
    assert pool.centre(math.nan, divide_by_std=True) == 0.0


def test_a_pool_without_spread_does_not_divide():
    pool = Pool.of([0.3, 0.1 + 0.2])  # 0.30000000000000004
    assert pool.centre(0.35, divide_by_std=True) == pytest.approx(0.05)
    assert Pool.of([0.1] * 3).centre(0.1, divide_by_std=True) == 0.0
    assert Pool.of([]).size == 0
