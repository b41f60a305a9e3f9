"""Plays groups: what failed is taken out, and what a greedy episode returned is handed out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sampo.advantages.base import GREEDY_RETURN
from sampo.episode import Episode, EpisodeGroup
from sampo.filtering import KEPT, Verdict
from sampo.rollout.collector import Collector, EpisodeRequest


@dataclass(kw_only=True, eq=False)
class PlayedGroup:
    """A group that was played, and what becomes of it."""

    group: EpisodeGroup
    """Its finished episodes, as far as they were not rejected."""
    failures: tuple[Episode, ...] = ()
    """Its error episodes, a greedy one included."""
    baseline: Episode | None = None
    """Its greedy episode, if one was wanted and finished."""
    rejected: Sequence[tuple[Episode, str]] = ()
    """Episodes taken out by a filter, with the reason."""
    verdict: Verdict = KEPT
    usable: bool = True
    """Whether it could be trained on, whatever the verdict."""

    def spoil(self, reason: str) -> None:
        """Note that the group cannot be trained on."""
        self.verdict, self.usable = Verdict(keep=False, reason=reason), False


def play_groups(
    collector: Collector, requests: Sequence[EpisodeRequest], size: int, greedy: Collector | None
) -> list[PlayedGroup]:
    """Play groups of episodes.

    Args:
        collector: plays the episodes that are trained on.
        requests: group by group.
        size: requests of one group.
        greedy: plays one more episode per group, whose raw return all others get as a metric.
    """
    episodes = collector.run(requests)
    # Any member's request will do: without sampling, the sampling seed means nothing.
    baselines = [] if greedy is None else greedy.run(requests[::size])
    groups: list[PlayedGroup] = []
    for number, start in enumerate(range(0, len(episodes), size)):
        played = _without_failures(episodes[start : start + size])
        if baselines:
            _add_baseline(played, baselines[number])
        groups.append(played)
    return groups


def _without_failures(members: Sequence[Episode]) -> PlayedGroup:
    failures = tuple(episode for episode in members if episode.failed)
    finished = tuple(episode for episode in members if not episode.failed)
    group = EpisodeGroup(
        task=members[0].task,
        seed=members[0].seed,
        episodes=finished,
        num_failed=len(failures),
    )
    played = PlayedGroup(group=group, failures=failures)
    if not finished:
        played.spoil("failed")
    return played


def _add_baseline(played: PlayedGroup, greedy: Episode) -> None:
    """Give a group its greedy episode; without a finite return it cannot be trained on."""
    if greedy.failed:
        played.failures += (greedy,)
    else:
        played.baseline = greedy
    if greedy.failed or not math.isfinite(greedy.reward):
        if played.usable:
            played.spoil("greedy_failed")
        return
    value = {GREEDY_RETURN: greedy.reward}
    episodes = (replace(e, metrics={**e.metrics, **value}) for e in played.group.episodes)
    played.group = replace(played.group, episodes=tuple(episodes))
