# pyright: strict
"""GiGPO: GRPO between episodes, plus a comparison of actions taken in the same state."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from difflib import SequenceMatcher
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
from sampo.errors import ConfigError


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
    similarity: float | None = None
    """None: states are the same if their keys are equal. A number in (0, 1]: text keys are the
    same if `difflib`'s ratio reaches it; each joins the first cluster whose first member is that
    similar, in order of episode and turn, so the result depends on the order. Quadratic."""

    def __post_init__(self) -> None:
        """Refuse numbers that cannot work."""
        if not (0.0 <= self.gamma <= 1.0 and self.step_weight >= 0.0):
            raise ConfigError(
                f"GiGPO: gamma={self.gamma} must lie in [0, 1] and step_weight={self.step_weight} "
                "must not be negative."
            )
        if self.similarity is not None and not 0.0 < self.similarity <= 1.0:
            raise ConfigError(
                f"GiGPO: similarity={self.similarity} must lie in (0, 1] (the paper's code: 0.95), "
                "or be null to compare keys exactly."
            )

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
        anchors: list[str] = []
        for i, episode in enumerate(group.episodes):
            for k, turn in enumerate(episode.turns):
                if turn.state_key is not None:
                    members.setdefault(self._anchor(turn.state_key, anchors), []).append((i, k))
        advantages = [[0.0] * len(episode.turns) for episode in group.episodes]
        for places in members.values():
            pool = Pool.of([returns[i][k] for i, k in places])
            for i, k in places:
                advantages[i][k] = pool.centre(
                    returns[i][k], divide_by_std=self.normalise == "mean_std"
                )
        return advantages

    def _anchor(self, key: Hashable, anchors: list[str]) -> Hashable:
        """Return the key of the step group that a state belongs to, adding it to `anchors`."""
        if self.similarity is None:
            return key
        if not isinstance(key, str):
            raise ConfigError(
                f"GiGPO: similarity={self.similarity} compares text, but this environment's "
                f"state_key() is a {type(key).__name__}; set similarity to null."
            )
        for anchor in anchors:
            if SequenceMatcher(None, key, anchor).ratio() >= self.similarity:
                return anchor
        anchors.append(key)
        return key
