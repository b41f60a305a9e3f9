"""The metrics of a rollout, by hand."""

import math
from dataclasses import replace

import pytest

from sampo.data.group_rollout import Rollout
from sampo.data.rollout_stats import rollout_stats, shaping_stats
from sampo.episode import Episode, EpisodeGroup, FinishReason, StopReason, Turn

TURN = Turn(observation="", reply="", action="a", reward=0.0, prompt_ids=(1, 2, 3))


def episode(reward: float, *replies: int, cut: bool = False, failed: bool = False) -> Episode:
    """Build an episode with replies of so many (distinct) tokens."""
    turns = [replace(TURN, action_ids=tuple(range(tokens))) for tokens in replies]
    turns[-1] = replace(
        turns[-1],
        reward=reward,
        finish_reason=FinishReason.LENGTH if cut else FinishReason.STOP,
    )
    stop = StopReason.ERROR if failed else StopReason.TERMINATED
    return Episode(task="t", seed=0, turns=tuple(turns), success=reward > 5, stop_reason=stop)


def group(*episodes: Episode) -> EpisodeGroup:
    return EpisodeGroup(task="t", seed=0, episodes=episodes)


WON, LOST = episode(10, 2, 2), episode(0, 4)


def stats_of(**parts: object) -> dict[str, float]:
    rollout = Rollout(**{"update": 0, "groups": (group(WON, LOST),), **parts})  # pyright: ignore
    return rollout_stats(rollout, max_new_tokens=8)


def test_success_is_reported_over_everything_that_was_rolled_out() -> None:
    """Kept: 1 of 2 solved. Dropped: 0 of 2. Rejected: 1 of 1. Together 2 of 5."""
    stats = stats_of(
        dropped=((group(LOST, LOST), "all_failed"),), rejected=((WON, 1, "overlong"),), num_filled=0
    )
    assert stats["rollout/success_rate"] == pytest.approx(2 / 5)
    assert stats["rollout/reward"] == pytest.approx(20 / 5)
    assert stats["rollout/episodes"] == 5
    assert stats["rollout/stop_terminated"] == 1.0
    assert stats["rollout/kept_group_fraction"] == 0.5
    assert stats["rollout/dropped_all_failed"] == 1
    assert stats["rollout/rejected_overlong"] == 1


def test_costs_are_those_of_everything() -> None:
    """Tokens 8 trained on; 4 dropped, 4 rejected, 5 greedy, 1 failed. Turns 3 + 1 + 2 + 1 + 1."""
    stats = stats_of(
        dropped=((group(LOST), "all_failed"),),
        rejected=((WON, 0, "overlong"),),
        baselines=(episode(10, 5),),
        failed=(episode(0, 1, failed=True),),
    )
    assert stats["rollout/env_steps"] == 8
    assert stats["rollout/action_tokens"] == 22
    assert stats["rollout/action_tokens_not_trained"] == 14
    assert stats["rollout/prompt_tokens"] == 24
    assert stats["rollout/greedy_episodes"] == 1
    assert stats["rollout/failed_episodes"] == 1
    # Greedy and failed episodes say nothing of the sampled policy: 2 of 4 solved, in 6 turns.
    assert stats["rollout/success_rate"] == 0.5
    assert stats["rollout/turns"] == 6 / 4


def test_without_greedy_or_rejected_episodes_nothing_is_said_of_them() -> None:
    assert not [name for name in stats_of() if "greedy" in name or "rejected" in name]


def test_a_reward_that_is_not_finite_is_counted_and_left_out() -> None:
    stats = stats_of(groups=(group(WON, episode(math.nan, 1)), group(LOST, episode(math.inf, 1))))
    assert stats["rollout/non_finite_rewards"] == 2
    assert stats["rollout/reward"] == stats["rollout/score"] == 5.0
    assert all(math.isfinite(value) for value in stats.values())
    assert stats_of()["rollout/non_finite_rewards"] == 0


def test_nothing_but_rewards_that_are_not_finite() -> None:
    stats = stats_of(groups=(group(episode(math.nan, 1)),))
    assert stats["rollout/reward"] == 0.0 and stats["rollout/zero_spread_groups"] == 1.0


def test_groups_without_spread() -> None:
    """Of four groups: spread; none; none left after rejection, but some as played; all failed."""
    stats = stats_of(
        dropped=(
            (group(LOST, LOST), "all_failed"),
            (group(LOST), "all_failed"),
            (group(), "failed"),
        ),
        rejected=((WON, 2, "overlong"),),
    )
    assert stats["rollout/zero_spread_groups"] == pytest.approx(1 / 3)
    almost = episode(10 + 1e-9, 2)
    assert stats_of(groups=(group(WON, almost),))["rollout/zero_spread_groups"] == 1.0


def test_length_truncation_and_repetition_of_replies() -> None:
    """Replies of 2, 2, 8 (cut) and 4 tokens at a limit of 8: 16 / 4 / 8. 7 7 7 7 7: one half."""
    stats = stats_of(groups=(group(WON, episode(0, 8, cut=True), LOST),))
    assert stats["rollout/reply_tokens"] == 4.0
    assert stats["rollout/reply_length_share"] == 0.5
    assert stats["rollout/truncated_reply_rate"] == 0.25
    assert stats["rollout/repetition_rate"] == 0.0
    stuck = replace(LOST, turns=(replace(TURN, action_ids=(7,) * 5),))
    assert stats_of(groups=(group(LOST, stuck),))["rollout/repetition_rate"] == 0.25


def test_what_shaping_takes_off_per_turn() -> None:
    before = group(replace(WON, turns=(replace(TURN, penalty=0.1), TURN)))
    after = group(replace(WON, turns=(replace(TURN, penalty=0.3), TURN)))
    assert shaping_stats([before], [after])["rollout/shaping_penalty"] == pytest.approx(0.1)
    assert shaping_stats([before], [before])["rollout/shaping_penalty"] == 0.0
