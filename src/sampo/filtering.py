# pyright: strict
"""Dial 4: which groups are worth an update.

A group whose episodes all did equally well says nothing about which actions were better. A filter
judges one group and changes nothing; refilling with new tasks, the budget for it and the counting
of reasons belong to the caller (`sampo.data`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sampo.episode import Episode, EpisodeGroup
from sampo.errors import ConfigError

SpreadCriterion = Literal["raw_return", "success", "score"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a filter says of a group."""

    keep: bool
    reason: str
    """A short name that is counted: `kept`, `all_solved`, `all_failed`, `no_spread`, `empty`."""


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
