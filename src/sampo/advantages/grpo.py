# pyright: strict
"""GRPO: how much better an episode did than the others of its task."""

from __future__ import annotations

from dataclasses import dataclass

from sampo.advantages.base import (
    AdvantageEstimator,
    Advantages,
    BaselineOver,
    Singleton,
    group_relative,
    turn_scores,
)
from sampo.episode import EpisodeGroup


@dataclass(frozen=True, kw_only=True)
class GRPO(AdvantageEstimator):
    """Group-relative advantage of every turn.

    With the score of turn `k` of episode `i`, `score_ik = R_i - penalty_ik` (`R_i` the raw
    return), and mean and unbiased standard deviation over the group::

        A_ik = (score_ik - mean) / (std + 1e-6)          without the division: Dr. GRPO's

    References:
        DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models,
        https://arxiv.org/abs/2402.03300
        Understanding R1-Zero-Like Training: A Critical Perspective (no division by std),
        https://arxiv.org/abs/2503.20783
    """

    divide_by_std: bool = True
    """Divide by the standard deviation of the pool."""
    baseline_over: BaselineOver = "turns"
    """`turns`: statistics over all turns of the group, so that long episodes weigh more (the
    paper's results). `episodes`: one mean score per episode."""
    singleton: Singleton = "zero"
    """What a pool of one gives: 0, or the score itself (the paper's code)."""

    def __call__(self, group: EpisodeGroup) -> Advantages:
        """Return one advantage per turn, `[episode][turn]`."""
        return group_relative(
            turn_scores(group),
            divide_by_std=self.divide_by_std,
            baseline_over=self.baseline_over,
            singleton=self.singleton,
        )
