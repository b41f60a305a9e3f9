"""Filters by hand: what is kept, what is dropped and why."""

import math

import pytest

from sampo.episode import Episode, EpisodeGroup, StopReason, Turn
from sampo.errors import ConfigError
from sampo.filtering import KeepAll, SpreadFilter, Verdict


def episode_of(*rewards: float, success: bool, penalty: float = 0.0) -> Episode:
    turns = tuple(
        Turn(observation="", reply="", action=None, reward=reward, penalty=penalty)
        for reward in rewards
    )
    stop = StopReason.TERMINATED if success else StopReason.MAX_TURNS
    return Episode(task="t", seed=0, turns=turns, success=success, stop_reason=stop)


def group_of(*episodes: Episode) -> EpisodeGroup:
    return EpisodeGroup(task="t", seed=0, episodes=episodes)


WON = episode_of(0, 10, success=True)
WON_SLOWLY = episode_of(-0.1, -0.1, 10, success=True)
LOST = episode_of(0, 0, success=False)
LOST_BADLY = episode_of(0, 0, success=False, penalty=0.1)
PARTLY = episode_of(4, success=False)


@pytest.mark.parametrize(
    ("episodes", "raw_return", "success", "score"),
    [
        ((WON, LOST), "kept", "kept", "kept"),
        ((WON, WON), "all_solved", "all_solved", "all_solved"),
        ((LOST, LOST), "all_failed", "all_failed", "all_failed"),
        # All solved, but some faster: the returns differ, the successes do not.
        ((WON, WON_SLOWLY), "kept", "all_solved", "kept"),
        # All failed, one with invalid turns: only the score differs.
        ((LOST, LOST_BADLY), "all_failed", "all_failed", "kept"),
        ((LOST, PARTLY), "kept", "all_failed", "kept"),
        ((WON,), "all_solved", "all_solved", "all_solved"),
        ((), "empty", "empty", "empty"),
    ],
)
def test_spread(episodes, raw_return, success, score):
    group = group_of(*episodes)
    assert SpreadFilter()(group).reason == raw_return
    assert SpreadFilter(criterion="success")(group).reason == success
    assert SpreadFilter(criterion="score")(group).reason == score
    assert SpreadFilter()(group).keep is (raw_return == "kept")


def test_equal_return_of_solved_and_failed():
    paid = episode_of(10, success=False)
    assert SpreadFilter()(group_of(WON, paid)).reason == "no_spread"


def test_order_of_summation_is_not_spread():
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ by 1e-16.
    group = group_of(
        episode_of(0.1, 0.2, 0.3, success=False), episode_of(0.3, 0.2, 0.1, success=False)
    )
    assert not SpreadFilter()(group).keep
    assert SpreadFilter(tolerance=0.0)(group).keep


def test_nan_rewards_are_not_spread():
    broken = episode_of(math.nan, success=False)
    assert SpreadFilter()(group_of(LOST, broken)).reason == "all_failed"
    assert SpreadFilter()(group_of(broken)).reason == "empty"


def test_keep_all():
    assert KeepAll()(group_of(LOST, LOST)) == Verdict(keep=True, reason="kept")
    assert KeepAll()(group_of()) == Verdict(keep=False, reason="empty")


def test_wrong_settings_say_what_to_do():
    with pytest.raises(ConfigError, match="raw_return, success, score"):
        SpreadFilter(criterion="reward")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="set 0 or more"):
        SpreadFilter(tolerance=-1)
