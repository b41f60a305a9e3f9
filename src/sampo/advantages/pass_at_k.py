# pyright: strict
"""Pass@k GRPO: only the best episode of a group is rewarded, for beating the second best."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sampo.advantages.base import STD_EPSILON, AdvantageEstimator, Advantages, Pool, turn_scores
from sampo.episode import EpisodeGroup


@dataclass(frozen=True, kw_only=True)
class PassAtK(AdvantageEstimator):
    """Advantage of the best of a group of k episodes over the second best.

    With one mean turn score per episode, in falling order `S_1 >= S_2 >= ...`::

        A of every turn of the best episode = (S_1 - S_2) / (std + 1e-6)        all others 0

    A tie for the best gives zeros, and so does a group of one. Never negative.

    References:
        Optimizing Language Models for Inference Time Objectives using Reinforcement Learning,
        https://arxiv.org/abs/2503.19595
    """

    divide_by_std: bool = True
    """Divide by the unbiased standard deviation over the episodes."""

    def __call__(self, group: EpisodeGroup) -> Advantages:
        """Return one advantage per turn, `[episode][turn]`."""
        scores = turn_scores(group)
        advantages = [[0.0] * len(episode) for episode in scores]
        means = {
            i: Pool.of(episode).mean
            for i, episode in enumerate(scores)
            if any(math.isfinite(score) for score in episode)
        }
        if len(means) < 2:
            return advantages
        best, second = sorted(means, key=lambda i: -means[i])[:2]
        lead = means[best] - means[second]
        if self.divide_by_std:
            lead /= Pool.of(list(means.values())).std + STD_EPSILON
        advantages[best] = [lead if math.isfinite(score) else 0.0 for score in scores[best]]
        return advantages
