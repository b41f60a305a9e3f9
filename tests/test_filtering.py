"""Filters by hand: what is kept, what is dropped and why."""

import math
from dataclasses import replace

import pytest

from sampo.episode import Episode, EpisodeGroup, FinishReason, StopReason, Turn
from sampo.errors import ConfigError
from sampo.filtering import (
    AccuracyBand,
    AllOf,
    KeepAll,
    RejectOverlong,
    RejectVoidTurns,
    SpreadFilter,
    TopVariance,
    Verdict,
    reject_episodes,
)


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


def test_accuracy_band_includes_its_ends():
    band = AccuracyBand(lowest=0.25, highest=0.5)
    reasons = [band(group_of(*[WON] * won, *[LOST] * (4 - won))).reason for won in (0, 1, 2, 3, 4)]
    assert reasons == ["below_band", "kept", "kept", "above_band", "above_band"]
    assert band(group_of()).reason == "empty"


def test_all_of_gives_the_first_reason():
    both = AllOf(filters=(SpreadFilter(), AccuracyBand(lowest=0.9, highest=1.0)))
    assert both(group_of(WON, WON)).reason == "all_solved"
    assert both(group_of(WON, LOST)).reason == "below_band"
    assert both(group_of(WON, WON_SLOWLY)).keep


def test_top_variance():
    """Variances 25, 0, 4 (returns 10, 0 | 0, 0 | 4, 0): sum 29."""
    groups = [group_of(WON, LOST), group_of(LOST, LOST), group_of(PARTLY, LOST)]

    def kept(selector: TopVariance) -> list[bool]:
        return [verdict.keep for verdict in selector(groups)]

    assert kept(TopVariance(top_p=0.3)) == [True, False, False]
    assert kept(TopVariance(top_p=0.5)) == [True, False, True]
    assert kept(TopVariance(top_p=1.0)) == [True, True, True]
    assert kept(TopVariance(top_p=0.8, share_of="variance")) == [True, False, False]
    assert kept(TopVariance(top_p=0.9, share_of="variance")) == [True, False, True]
    assert kept(TopVariance(top_p=1.0, share_of="variance")) == [True, False, True]
    assert TopVariance()([]) == []


def test_rejected_episodes_leave_their_group():
    acting = replace(WON, turns=tuple(replace(turn, action="go") for turn in WON.turns))
    cut = replace(acting, turns=(replace(acting.turns[0], finish_reason=FinishReason.LENGTH),))
    full = replace(acting, stop_reason=StopReason.CONTEXT)
    group = group_of(acting, cut, full, LOST)
    left, rejected = reject_episodes(group, [RejectOverlong(), RejectVoidTurns()])
    assert left.episodes == (acting,)
    assert rejected == [(cut, "overlong"), (full, "overlong"), (LOST, "void_turn")]
    assert reject_episodes(group, []) == (group, [])
    assert len(group.episodes) == 4


def test_wrong_settings_say_what_to_do():
    with pytest.raises(ConfigError, match="raw_return, success, score"):
        SpreadFilter(criterion="reward")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="set 0 or more"):
        SpreadFilter(tolerance=-1)
    with pytest.raises(ConfigError, match="lowest <= highest"):
        AccuracyBand(lowest=0.9, highest=0.1)
    with pytest.raises(ConfigError, match="groups or variance"):
        TopVariance(top_p=0.0)
