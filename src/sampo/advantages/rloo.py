# pyright: strict
"""RLOO: each score against the mean of the others."""

from __future__ import annotations

from dataclasses import dataclass

from sampo.advantages.base import (
    AdvantageEstimator,
    Advantages,
    BaselineOver,
    Pool,
    Singleton,
    group_relative,
    score_pool,
    turn_scores,
)
from sampo.episode import EpisodeGroup


@dataclass(frozen=True, kw_only=True)
class RLOO(AdvantageEstimator):
    """Leave-one-out advantage of every turn.

    With the pool's size `n` and mean::

        A_ik = n / (n - 1) (score_ik - mean)     = score_ik - mean of the others, if in the pool

    References:
        Back to Basics: Revisiting REINFORCE Style Optimization for Learning from Human Feedback in
        LLMs, https://arxiv.org/abs/2402.14740
    """

    baseline_over: BaselineOver = "turns"
    """What counts once in the mean. The paper's code has `turns` and `first_turns`."""
    singleton: Singleton = "zero"
    """What a pool of one gives: 0, or the score itself (the paper's code)."""

    def __call__(self, group: EpisodeGroup) -> Advantages:
        """Return one advantage per turn, `[episode][turn]`."""
        scores = turn_scores(group)
        centred = group_relative(
            scores,
            divide_by_std=False,
            baseline_over=self.baseline_over,
            singleton=self.singleton,
        )
        size = Pool.of(score_pool(scores, self.baseline_over)).size
        if size < 2:
            return centred
        factor = size / (size - 1)
        return [[factor * value for value in episode] for episode in centred]
