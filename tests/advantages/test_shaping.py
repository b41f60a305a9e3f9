"""The overlong penalty by hand."""

from dataclasses import replace

import pytest

from sampo.advantages import OverlongPenalty
from sampo.errors import ConfigError


@pytest.mark.parametrize(
    ("tokens", "penalty"), [(80, 0.0), (81, 0.005), (90, 0.05), (100, 0.1), (120, 0.1)]
)
def test_grows_over_the_buffer(make_group, make_episode, tokens, penalty):
    episode = make_episode([10], penalties=[0.5])
    long = replace(episode, turns=(replace(episode.turns[0], action_ids=(1,) * tokens),))
    group = OverlongPenalty(max_length=100, buffer=20)(make_group(long))
    (turn,) = group.episodes[0].turns
    assert turn.penalty == pytest.approx(0.5 + penalty)
    assert turn.reward == 10


def test_wrong_settings_say_what_to_do():
    with pytest.raises(ConfigError, match="buffer=200"):
        OverlongPenalty(max_length=100, buffer=200)
