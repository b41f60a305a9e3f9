"""Scores and rewards without a baseline."""

import math

from sampo.advantages import TurnReward, TurnScore


def test_score_and_reward(make_group, make_episode):
    group = make_group(make_episode([1, 0, 9], penalties=[0, 0.5, 0]), make_episode([math.nan]))
    assert TurnScore()(group) == [[10, 9.5, 10], [0.0]]
    assert TurnReward()(group) == [[1, -0.5, 9], [0.0]]
