# pyright: strict
"""Dial 4: which groups are worth an update.

A group whose episodes all did equally well says nothing about which actions were better. Three
kinds of judges, in the order in which a caller asks them; none changes what it judges::

    EpisodeFilter(episode) -> Verdict      rejected episodes leave their group (`reject_episodes`)
                                           before it is judged or compared
    GroupFilter(group) -> Verdict          dropped groups are replaced, within a budget
    GroupSelector(groups) -> [Verdict]     what is best among the groups of one rollout batch

Refilling with new tasks, its budget and the counting of reasons belong to the caller.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import pvariance
from typing import Literal

from sampo.episode import Episode, EpisodeGroup, FinishReason, StopReason
from sampo.errors import ConfigError

SpreadCriterion = Literal["raw_return", "success", "score"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a filter says of a group."""

    keep: bool
    reason: str
    """A short name that is counted: `kept`, `all_solved`, `all_failed`, `no_spread`, `empty`,
    `below_band`, `above_band`, `low_variance`, `overlong`, `void_turn`."""


KEPT = Verdict(keep=True, reason="kept")


class GroupFilter(ABC):
    """A judge of groups. Never alters a group; the reason is counted."""

    @abstractmethod
    def __call__(self, group: EpisodeGroup) -> Verdict:
        """Say whether the group is kept, and why."""


@dataclass(frozen=True, kw_only=True)
class KeepAll(GroupFilter):
    """No filtering: every group with an episode is kept."""

    def __call__(self, group: EpisodeGroup) -> Verdict:
        """Say whether the group is kept, and why."""
        return KEPT if group.episodes else Verdict(keep=False, reason="empty")


@dataclass(frozen=True, kw_only=True)
class SpreadFilter(GroupFilter):
    """Drop groups whose episodes are all worth the same: DAPO's dynamic sampling.

    The paper's code compares raw returns; its Eq. 7 (0 < successes < group size) is `success`. The
    two differ where rewards are not binary: in Sokoban, solved episodes of different length have
    different returns. `score` counts the penalties of invalid turns, so that all-failed groups
    that can still teach the format are kept.

    References:
        DAPO: An Open-Source LLM Reinforcement Learning System at Scale,
        https://arxiv.org/abs/2503.14476
    """

    criterion: SpreadCriterion = "raw_return"
    tolerance: float = 1e-6
    """Values that differ by at most this are equal: the same rewards, summed in another order,
    differ in the last digits. 0 compares exactly, as the paper's code does."""

    def __post_init__(self) -> None:
        """Refuse unknown names and a negative tolerance."""
        if self.criterion not in ("raw_return", "success", "score"):
            raise ConfigError(
                f"filter.criterion is {self.criterion!r}; it must be one of raw_return, success, "
                "score."
            )
        if self.tolerance < 0.0:
            raise ConfigError(f"filter.tolerance={self.tolerance} is negative; set 0 or more.")

    def __call__(self, group: EpisodeGroup) -> Verdict:
        """Say whether the group is kept, and why."""
        values = [self._value(episode) for episode in group.episodes]
        finite = [value for value in values if math.isfinite(value)]
        if not finite:
            return Verdict(keep=False, reason="empty")
        if max(finite) - min(finite) > self.tolerance:
            return KEPT
        return Verdict(keep=False, reason=_uniform_reason(group.episodes))

    def _value(self, episode: Episode) -> float:
        if self.criterion == "success":
            return float(episode.success)
        return episode.reward if self.criterion == "raw_return" else episode.score


def _uniform_reason(episodes: Sequence[Episode]) -> str:
    """Return what kind of uniform group this is."""
    solved = sum(episode.success for episode in episodes)
    if solved == len(episodes):
        return "all_solved"
    return "all_failed" if solved == 0 else "no_spread"


@dataclass(frozen=True, kw_only=True)
class AccuracyBand(GroupFilter):
    """Keep groups whose success rate lies in a band, both ends included."""

    lowest: float = 0.1
    highest: float = 0.9

    def __post_init__(self) -> None:
        """Refuse an empty band."""
        if not 0.0 <= self.lowest <= self.highest <= 1.0:
            raise ConfigError(
                f"AccuracyBand: lowest={self.lowest} and highest={self.highest} must satisfy "
                "0 <= lowest <= highest <= 1."
            )

    def __call__(self, group: EpisodeGroup) -> Verdict:
        """Say whether the group is kept, and why."""
        if not group.episodes:
            return Verdict(keep=False, reason="empty")
        if group.success_rate < self.lowest:
            return Verdict(keep=False, reason="below_band")
        return (
            Verdict(keep=False, reason="above_band") if group.success_rate > self.highest else KEPT
        )


@dataclass(frozen=True, kw_only=True)
class AllOf(GroupFilter):
    """Keep what every filter keeps; the first that drops a group gives the reason."""

    filters: tuple[GroupFilter, ...]

    def __call__(self, group: EpisodeGroup) -> Verdict:
        """Say whether the group is kept, and why."""
        verdicts = (judge(group) for judge in self.filters)
        return next((verdict for verdict in verdicts if not verdict.keep), KEPT)


class GroupSelector(ABC):
    """A judge of the groups of one rollout batch against each other."""

    @abstractmethod
    def __call__(self, groups: Sequence[EpisodeGroup]) -> list[Verdict]:
        """Return one verdict per group, in order; if it is against all, the caller keeps all."""


@dataclass(frozen=True, kw_only=True)
class TopVariance(GroupSelector):
    """Keep the groups with the largest variance of the raw return: RAGEN's filter.

    References:
        RAGEN: Understanding Self-Evolution in LLM Agents via Multi-Turn Reinforcement Learning,
        https://arxiv.org/abs/2504.20073
    """

    top_p: float = 0.5
    """How much to keep, in (0, 1]."""
    share_of: Literal["groups", "variance"] = "groups"
    """Keep this share of the groups (rounded up), or the fewest groups that together have this
    share of the summed variance; groups without any variance are never kept in the second case."""

    def __post_init__(self) -> None:
        """Refuse a share that keeps nothing, and unknown names."""
        if not 0.0 < self.top_p <= 1.0 or self.share_of not in ("groups", "variance"):
            raise ConfigError(
                f"TopVariance: top_p={self.top_p} must lie in (0, 1] and "
                f"share_of={self.share_of!r} must be groups or variance."
            )

    def __call__(self, groups: Sequence[EpisodeGroup]) -> list[Verdict]:
        """Return one verdict per group, in order; ties go to the earlier group."""
        spread = [_variance([episode.reward for episode in group.episodes]) for group in groups]
        ranked = sorted(range(len(groups)), key=lambda i: -spread[i])
        if self.share_of == "groups":
            chosen = set(ranked[: math.ceil(self.top_p * len(groups))])
        else:
            wanted, chosen = self.top_p * sum(spread), set[int]()
            for i in ranked:
                if sum(spread[j] for j in chosen) < wanted and spread[i] > 0.0:
                    chosen.add(i)
        low = Verdict(keep=False, reason="low_variance")
        return [KEPT if i in chosen else low for i in range(len(groups))]


def _variance(values: Sequence[float]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return pvariance(finite) if finite else 0.0


class EpisodeFilter(ABC):
    """A judge of single episodes, before their group is judged or compared."""

    @abstractmethod
    def __call__(self, episode: Episode) -> Verdict:
        """Say whether the episode is kept, and why."""


@dataclass(frozen=True, kw_only=True)
class RejectOverlong(EpisodeFilter):
    """Reject episodes that were cut: a reply at its token limit, or no room for another reply."""

    def __call__(self, episode: Episode) -> Verdict:
        """Say whether the episode is kept, and why."""
        cut = any(turn.finish_reason is FinishReason.LENGTH for turn in episode.turns)
        overlong = cut or episode.stop_reason is StopReason.CONTEXT
        return Verdict(keep=False, reason="overlong") if overlong else KEPT


@dataclass(frozen=True, kw_only=True)
class RejectVoidTurns(EpisodeFilter):
    """Reject episodes with a turn from which no action could be read.

    References:
        SimpleTIR: End-to-End Reinforcement Learning for Multi-Turn Tool-Integrated Reasoning,
        https://arxiv.org/abs/2509.02479
    """

    def __call__(self, episode: Episode) -> Verdict:
        """Say whether the episode is kept, and why."""
        void = any(turn.action is None for turn in episode.turns)
        return Verdict(keep=False, reason="void_turn") if void else KEPT


def reject_episodes(
    group: EpisodeGroup, filters: Sequence[EpisodeFilter]
) -> tuple[EpisodeGroup, list[tuple[Episode, str]]]:
    """Return the group without its rejected episodes, and those, each with the first reason."""
    kept: list[Episode] = []
    rejected: list[tuple[Episode, str]] = []
    for episode in group.episodes:
        verdicts = (judge(episode) for judge in filters)
        against = next((verdict for verdict in verdicts if not verdict.keep), None)
        if against is None:
            kept.append(episode)
        else:
            rejected.append((episode, against.reason))
    return replace(group, episodes=tuple(kept)), rejected
