"""Metrics of a rollout: results, costs, and the early signs of a collapse. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from sampo.data.group_rollout import Rollout
from sampo.data.repetition import repetition_rate
from sampo.episode import Episode, EpisodeGroup, FinishReason
from sampo.filtering import SpreadFilter


def rollout_stats(rollout: Rollout, *, max_new_tokens: int) -> dict[str, float]:
    """Return the metrics of a rollout, over everything that was rolled out, trained on or not.

    Results are over finished episodes, rejected ones and those of dropped groups included, greedy
    ones not. Costs are over all episodes, greedy and failed ones included.

    Args:
        rollout: before its penalties are shaped.
        max_new_tokens: most tokens of one reply.
    """
    episodes = [episode for group in rollout.groups_as_played for episode in group.episodes]
    rewards = [episode.reward for episode in episodes]
    stats: dict[str, float] = {
        "rollout/success_rate": _mean([episode.success for episode in episodes]),
        "rollout/reward": _finite_mean(rewards),
        "rollout/score": _finite_mean([episode.score for episode in episodes]),
        "rollout/non_finite_rewards": sum(not math.isfinite(reward) for reward in rewards),
        "rollout/turns": _mean([len(episode.turns) for episode in episodes]),
        "rollout/episodes": len(episodes),
        "rollout/kept_group_fraction": (len(rollout.groups) - rollout.num_filled)
        / max(len(rollout.all_groups), 1),
        "rollout/zero_spread_groups": _zero_spread_share(rollout.groups_as_played),
        "rollout/filled_groups": rollout.num_filled,
        "rollout/rounds": rollout.num_rounds,
        "rollout/failed_episodes": len(rollout.failed),
        "rollout/retried_episodes": rollout.num_retries,
    }
    if rollout.baselines:
        stats["rollout/greedy_episodes"] = len(rollout.baselines)
    reasons = Counter(reason for _, reason in rollout.dropped)
    stats |= {f"rollout/dropped_{reason}": number for reason, number in reasons.items()}
    reasons = Counter(reason for _, _, reason in rollout.rejected)
    stats |= {f"rollout/rejected_{reason}": number for reason, number in reasons.items()}
    ends = Counter(episode.stop_reason.value for episode in episodes)
    stats |= {f"rollout/stop_{reason}": number / len(episodes) for reason, number in ends.items()}
    return stats | _reply_stats(episodes, max_new_tokens) | _costs(rollout, episodes)


def shaping_stats(
    before: Sequence[EpisodeGroup], after: Sequence[EpisodeGroup]
) -> dict[str, float]:
    """Return what reward shaping took off, per turn of the groups that are trained on."""
    old, new = (
        [turn.penalty for group in groups for episode in group.episodes for turn in episode.turns]
        for groups in (before, after)
    )
    return {"rollout/shaping_penalty": _mean(new) - _mean(old)}


def _reply_stats(episodes: Sequence[Episode], max_new_tokens: int) -> dict[str, float]:
    """Return means over the turns of sampled episodes."""
    turns = [turn for episode in episodes for turn in episode.turns]
    reply_tokens = _mean([len(turn.action_ids) for turn in turns])
    cut = [turn.finish_reason is FinishReason.LENGTH for turn in turns]
    return {
        "rollout/valid_action_rate": _mean([turn.action_valid for turn in turns]),
        "rollout/valid_format_rate": _mean([turn.format_valid for turn in turns]),
        "rollout/reply_tokens": reply_tokens,
        "rollout/reply_length_share": reply_tokens / max_new_tokens,
        "rollout/truncated_reply_rate": _mean(cut),
        "rollout/repetition_rate": _mean([repetition_rate(turn.action_ids) for turn in turns]),
    }


def _costs(rollout: Rollout, finished: Sequence[Episode]) -> dict[str, float]:
    """Return what was spent, on greedy and failed episodes too."""
    episodes = [*finished, *rollout.baselines, *rollout.failed]
    turns = [turn for episode in episodes for turn in episode.turns]
    written = sum(episode.num_action_tokens for episode in episodes)
    trained = sum(e.num_action_tokens for group in rollout.groups for e in group.episodes)
    return {
        "rollout/env_steps": len(turns),
        "rollout/action_tokens": written,
        "rollout/action_tokens_not_trained": written - trained,
        "rollout/prompt_tokens": sum(len(turn.prompt_ids) for turn in turns),
    }


def _zero_spread_share(groups: Sequence[EpisodeGroup]) -> float:
    """Return the share of groups, of those with an episode, whose raw returns are all equal."""
    has_spread = SpreadFilter(criterion="raw_return")
    return _mean([not has_spread(group).keep for group in groups if group.episodes])


def _finite_mean(values: Sequence[float]) -> float:
    return _mean([value for value in values if math.isfinite(value)])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
