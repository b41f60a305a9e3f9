# pyright: strict
"""ReMax: each score against that of a greedy episode of the same task."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sampo.advantages.base import AdvantageEstimator, Advantages, turn_scores
from sampo.episode import EpisodeGroup
from sampo.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class ReMax(AdvantageEstimator):
    """Advantage over the policy's own greedy episode: `A_ik = score_ik - R_greedy`.

    Whoever rolls out must play one more episode per task at temperature 0, not train on it, and
    leave its raw return in `Episode.metrics[baseline_metric]` of the others.

    References:
        ReMax: A Simple, Effective, and Efficient Reinforcement Learning Method for Aligning Large
        Language Models, https://arxiv.org/abs/2310.10505
    """

    baseline_metric: str = "greedy_return"
    """Name in `Episode.metrics` of the greedy episode's raw return."""

    def __call__(self, group: EpisodeGroup) -> Advantages:
        """Return one advantage per turn, `[episode][turn]`.

        Raises:
            ConfigError: if an episode does not carry the greedy return.
        """
        advantages: Advantages = []
        for episode, scores in zip(group.episodes, turn_scores(group), strict=True):
            if self.baseline_metric not in episode.metrics:
                raise ConfigError(
                    f"ReMax needs the return of a greedy episode of task {group.task!r} in "
                    f"Episode.metrics[{self.baseline_metric!r}], but there is none; roll one out "
                    "per group, or use another estimator (RLOO needs no extra episode)."
                )
            baseline = float(episode.metrics[self.baseline_metric])
            values = [score - baseline for score in scores]
            advantages.append([value if math.isfinite(value) else 0.0 for value in values])
        return advantages
