"""Episodes as text."""

from dataclasses import replace

import pytest

from sampo.callbacks import SampleTexts
from sampo.callbacks.sample_texts import as_markdown, two_of
from sampo.episode import Episode, StopReason, Turn
from sampo.errors import ConfigError

TURN = Turn(observation="a room\nwith `ticks`", reply="go " * 400, action=None, reward=-0.1)
EPISODE = Episode(
    task="train/7",
    seed=0,
    turns=(replace(TURN, action_valid=False),),
    success=False,
    stop_reason=StopReason.MAX_TURNS,
)


def test_one_of_each_kind():
    won = replace(EPISODE, success=True, task="train/8")
    assert two_of([EPISODE, won, won]) == {"failure": EPISODE, "success": won}
    assert two_of([won]) == {"success": won}


def test_text():
    text = as_markdown(EPISODE)
    assert "**train/7**: return -0.1, 1 turns, max_turns" in text
    assert "`a room / with 'ticks'`" in text
    assert "*(invalid)*" in text
    assert "[...]" in text and len(text) < 1000
    with pytest.raises(ConfigError, match="at least 1"):
        SampleTexts(every_n_updates=0)
