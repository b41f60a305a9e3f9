"""The advantages of a rollout, and what they would be without some of its episodes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from sampo.advantages import AdvantageEstimator
from sampo.episode import EpisodeGroup


@dataclass(frozen=True, kw_only=True)
class GroupAdvantages:
    """Asks the estimator group by group; episodes are numbered through, as in the batch."""

    groups: tuple[EpisodeGroup, ...]
    estimator: AdvantageEstimator

    def __call__(self, rejected: Collection[int] = ()) -> list[list[float]]:
        """Return advantages `[episode][turn]`.

        Args:
            rejected: numbers of episodes that leave their group before it is looked at; their
                advantages are 0, and they are in no baseline.
        """
        advantages: list[list[float]] = []
        for group in self.groups:
            first = len(advantages)
            staying = [
                episode
                for number, episode in enumerate(group.episodes, first)
                if number not in rejected
            ]
            values = iter(
                self.estimator(replace(group, episodes=tuple(staying))) if staying else ()
            )
            advantages += [
                [0.0] * len(episode.turns) if number in rejected else list(next(values))
                for number, episode in enumerate(group.episodes, first)
            ]
        return advantages
