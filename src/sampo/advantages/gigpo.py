# pyright: strict
"""GiGPO: GRPO between episodes, plus a comparison of actions taken in the same state."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

from sampo.advantages.base import (
    AdvantageEstimator,
    Advantages,
    BaselineOver,
    Pool,
    Singleton,
    group_relative,
    step_returns,
    turn_scores,
)
from sampo.episode import EpisodeGroup


@dataclass(frozen=True, kw_only=True)
class GiGPO(AdvantageEstimator):
    """Group-in-group advantage of every turn: SAMPO's estimator.

    ::

        A_ik = A_episode_ik + step_weight A_step_ik
        A_episode  as in GRPO
        A_step_ik = (Q_ik - mean_g) / (std_g + 1e-6)      g: turns of the group with its state_key
        Q_ik = sum_{j >= k} gamma^(j-k) r_ij - penalty_ik

    Turns of one episode that revisit a state share its step group. A state seen once, or a turn
    without a state key, has a step part of 0. `normalise="mean"` leaves both divisions out.

    References:
        Group-in-Group Policy Optimization for LLM Agent Training,
        https://arxiv.org/abs/2505.10978
    """

    gamma: float = 0.95
    """Discount per turn of the step returns."""
    step_weight: float = 1.0
    """Weight of the step part."""
    normalise: Literal["mean", "mean_std"] = "mean_std"
    """Subtract the mean, or also divide by the standard deviation."""
    baseline_over: BaselineOver = "turns"
    """What counts once in the episode part's statistics: see `GRPO.baseline_over`."""
    singleton: Singleton = "zero"
    """What a pool of one gives in the episode part: 0, or the score itself (the paper's code)."""

    def __call__(self, group: EpisodeGroup) -> Advantages:
        """Return one advantage per turn, `[episode][turn]`."""
        episode_part = group_relative(
            turn_scores(group),
            divide_by_std=self.normalise == "mean_std",
            baseline_over=self.baseline_over,
            singleton=self.singleton,
        )
        step_part = self.step_part(group)
        return [
            [whole + self.step_weight * step for whole, step in zip(wholes, steps, strict=True)]
            for wholes, steps in zip(episode_part, step_part, strict=True)
        ]

    def step_part(self, group: EpisodeGroup) -> Advantages:
        """Return the step part alone: each turn against those that started in its state."""
        returns = [step_returns(episode, self.gamma) for episode in group.episodes]
        members: dict[Hashable, list[tuple[int, int]]] = {}
        for i, episode in enumerate(group.episodes):
            for k, turn in enumerate(episode.turns):
                if turn.state_key is not None:
                    members.setdefault(turn.state_key, []).append((i, k))
        advantages = [[0.0] * len(episode.turns) for episode in group.episodes]
        for places in members.values():
            pool = Pool.of([returns[i][k] for i, k in places])
            for i, k in places:
                advantages[i][k] = pool.centre(
                    returns[i][k], divide_by_std=self.normalise == "mean_std"
                )
        return advantages
