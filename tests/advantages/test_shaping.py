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
    group = OverlongPenalty(buffer_share=0.2)(make_group(long), max_new_tokens=100)
    (turn,) = group.episodes[0].turns
    assert turn.penalty == pytest.approx(0.5 + penalty)
    assert turn.reward == 10


def test_a_buffer_of_no_whole_number_of_tokens(make_group, make_episode):
    """Limit 8, buffer 0.25 of it, 2 tokens: the seventh costs half of the factor 1, the last all.
    Limit 2, buffer 0.5 tokens: only the last token costs."""
    turns = [replace(make_episode([0]).turns[0], action_ids=(1,) * n) for n in (6, 7, 8)]
    group = make_group(replace(make_episode([0]), turns=tuple(turns)))
    penalty = OverlongPenalty(buffer_share=0.25, factor=1.0)

    def penalties(limit):
        shaped = penalty(group, max_new_tokens=limit)
        return [turn.penalty for turn in shaped.episodes[0].turns]

    assert penalties(8) == pytest.approx([0.0, 0.5, 1.0])
    short = replace(group.episodes[0], turns=tuple(replace(t, action_ids=(1,)) for t in turns[:1]))
    assert penalty(make_group(short), max_new_tokens=2).episodes[0].turns[0].penalty == 0.0
    both = replace(short, turns=tuple(replace(t, action_ids=(1, 2)) for t in turns[:1]))
    assert penalty(make_group(both), max_new_tokens=2).episodes[0].turns[0].penalty == 1.0


@pytest.mark.parametrize("wrong", [{"buffer_share": 0.0}, {"buffer_share": 1.1}, {"factor": 0.0}])
def test_wrong_settings_say_what_to_do(wrong):
    name, value = next(iter(wrong.items()))
    with pytest.raises(ConfigError, match=f"{name}={value} must"):
        OverlongPenalty(**wrong)
