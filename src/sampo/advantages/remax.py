# pyright: strict
"""ReMax: each score against that of a greedy episode of the same task."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sampo.advantages.base import GREEDY_RETURN, AdvantageEstimator, Advantages, turn_scores
from sampo.episode import EpisodeGroup
from sampo.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class ReMax(AdvantageEstimator):
    """Advantage over the policy's own greedy episode: `A_ik = score_ik - R_greedy`.

    One more episode per task is played at temperature 0 and not trained on. A group of one will
    do, and one without spread may differ from its baseline, so `KeepAll` is the fitting filter.

    References:
        ReMax: A Simple, Effective, and Efficient Reinforcement Learning Method for Aligning Large
        Language Models, https://arxiv.org/abs/2310.10505
    """

    @property
    def compares_episodes(self) -> bool:
        """No: each with the greedy one, which is none of the group's own."""
        return False

    @property
    def needs_greedy(self) -> bool:
        """Yes: its return is the baseline."""
        return True

    def __call__(self, group: EpisodeGroup) -> Advantages:
        """Return one advantage per turn, `[episode][turn]`.

        Raises:
            ConfigError: if an episode does not carry the greedy return.
        """
        advantages: Advantages = []
        for episode, scores in zip(group.episodes, turn_scores(group), strict=True):
            if GREEDY_RETURN not in episode.metrics:
                raise ConfigError(
                    f"ReMax needs the return of a greedy episode of task {group.task!r} in "
                    f"Episode.metrics[{GREEDY_RETURN!r}], but there is none; roll one out per "
                    "group, or use another estimator (RLOO needs no extra episode)."
                )
            baseline = float(episode.metrics[GREEDY_RETURN])
            values = [score - baseline for score in scores]
            advantages.append([value if math.isfinite(value) else 0.0 for value in values])
        return advantages
