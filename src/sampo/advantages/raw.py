# pyright: strict
"""Numbers without a baseline, for methods that find theirs in the whole batch.

The first stage of REINFORCE++ (`whiten.py`) and of PPO (`gae.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sampo.advantages.base import AdvantageEstimator, Advantages, turn_scores
from sampo.episode import EpisodeGroup


@dataclass(frozen=True, kw_only=True)
class TurnScore(AdvantageEstimator):
    """The score of every turn as it is: raw return of the episode minus the turn's penalty."""

    @property
    def compares_episodes(self) -> bool:
        """No: every turn stands for itself."""
        return False

    def __call__(self, group: EpisodeGroup) -> Advantages:
        """Return one score per turn, `[episode][turn]`; 0 where it is not finite."""
        return _finite(turn_scores(group))


@dataclass(frozen=True, kw_only=True)
class TurnReward(AdvantageEstimator):
    """The reward of every turn alone, minus its penalty: what `GAE` over episodes wants."""

    @property
    def compares_episodes(self) -> bool:
        """No: every turn stands for itself."""
        return False

    def __call__(self, group: EpisodeGroup) -> Advantages:
        """Return one reward per turn, `[episode][turn]`; 0 where it is not finite."""
        return _finite(
            [[turn.reward - turn.penalty for turn in episode.turns] for episode in group.episodes]
        )


def _finite(values: Advantages) -> Advantages:
    return [[value if math.isfinite(value) else 0.0 for value in row] for row in values]
