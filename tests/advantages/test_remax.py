"""ReMax by hand."""

from dataclasses import replace

import pytest

from sampo.advantages import GRPO, ReMax, TurnReward, TurnScore
from sampo.errors import ConfigError


def test_against_the_greedy_episode(make_group, make_episode):
    won = replace(make_episode([0, 10], penalties=[0.1, 0]), metrics={"greedy_return": 4.0})
    lost = replace(make_episode([0]), metrics={"greedy_return": 4.0})
    advantages = ReMax()(make_group(won, lost))
    assert advantages[0] == pytest.approx([5.9, 6.0])
    assert advantages[1] == [-4.0]


def test_who_needs_what():
    assert ReMax().needs_greedy and not GRPO().needs_greedy
    assert [e.compares_episodes for e in (GRPO(), ReMax(), TurnScore(), TurnReward())] == [
        True,
        False,
        False,
        False,
    ]


def test_without_a_greedy_episode(make_group, make_episode):
    with pytest.raises(ConfigError, match="greedy_return"):
        ReMax()(make_group(make_episode([1])))
