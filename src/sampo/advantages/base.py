# pyright: strict
"""What an advantage estimator is, and the statistics that several of them share.

An estimator sees one group at a time and gives every turn one number; collation spreads it over
the turn's action tokens. Groups hold finished episodes only (failed ones are dropped before).
Arithmetic is in Python floats (double precision). A turn whose score is not finite (a NaN reward)
is left out of every statistic and gets the advantage 0.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sampo.episode import Episode, EpisodeGroup

Advantages = list[list[float]]
"""One number per turn: `[episode][turn]`."""
BaselineOver = Literal["turns", "episodes", "first_turns"]
"""What counts once in the statistics of a group: every turn, every episode with its mean score, or
every episode with the score of its first turn."""
Singleton = Literal["zero", "score"]
"""What a pool of one gives: nothing to compare with, so 0, or the score itself (the paper)."""

STD_EPSILON = 1e-6
GREEDY_RETURN = "greedy_return"
"""Name in `Episode.metrics` of the raw return of its group's greedy episode."""


class AdvantageEstimator(ABC):
    """From a group of episodes to one advantage per turn.

    Laws, checked by a shared test: equal scores give exact zeros; never NaN; a constant added to
    every episode's reward changes nothing where the estimator subtracts a baseline; the order of
    the episodes does not matter.
    """

    @property
    def compares_episodes(self) -> bool:
        """Whether episodes are judged by the others of their group, so that one alone is not."""
        return True

    @property
    def needs_greedy(self) -> bool:
        """Whether each group needs one more episode, played greedily and not trained on.

        Whoever rolls out leaves its raw return in `Episode.metrics[GREEDY_RETURN]` of the others.
        """
        return False

    @abstractmethod
    def __call__(self, group: EpisodeGroup) -> Advantages:
        """Return one advantage per turn, `[episode][turn]`."""


def turn_scores(group: EpisodeGroup) -> list[list[float]]:
    """Return the score of every turn: the episode's raw return minus that turn's own penalty.

    The penalty of an invalid turn is local to it: the other turns of the episode do not pay.
    """
    return [[episode.reward - turn.penalty for turn in episode.turns] for episode in group.episodes]


def step_returns(episode: Episode, gamma: float) -> list[float]:
    """Return each turn's discounted raw return, minus that turn's own (undiscounted) penalty.

    `R_k = r_k + gamma R_{k+1}` over the environment's rewards; the result is `R_k - penalty_k`.
    """
    returns: list[float] = []
    future = 0.0
    for turn in reversed(episode.turns):
        future = turn.reward + gamma * future
        returns.append(future - turn.penalty)
    return returns[::-1]


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Mean and spread of the finite values of a pool."""

    size: int
    mean: float
    std: float
    """Unbiased; exactly 0 where all values are equal, and for fewer than two."""

    @classmethod
    def of(cls, values: Sequence[float]) -> Pool:
        """Return the statistics of a pool, ignoring values that are not finite."""
        finite = [value for value in values if math.isfinite(value)]
        if not finite:
            return cls(size=0, mean=0.0, std=0.0)
        if min(finite) == max(finite):
            return cls(size=len(finite), mean=finite[0], std=0.0)
        mean = math.fsum(finite) / len(finite)
        squares = math.fsum((value - mean) ** 2 for value in finite)
        return cls(size=len(finite), mean=mean, std=math.sqrt(squares / (len(finite) - 1)))

    def centre(self, value: float, *, divide_by_std: bool) -> float:
        """Return `(value - mean) / (std + 1e-6)`, or the numerator; 0 for a non-finite value.

        A pool without spread does not divide: there, a value that is not of the pool itself
        would be blown up a million times.
        """
        if not math.isfinite(value):
            return 0.0
        centred = value - self.mean
        has_spread = self.std > 1e-9 * max(1.0, abs(self.mean))
        return centred / (self.std + STD_EPSILON) if divide_by_std and has_spread else centred


def score_pool(scores: Sequence[Sequence[float]], baseline_over: BaselineOver) -> list[float]:
    """Return the pool of a group's baseline, finite scores only (see `BaselineOver`)."""
    finite = [[score for score in episode if math.isfinite(score)] for episode in scores]
    if baseline_over == "turns":
        return [score for episode in finite for score in episode]
    if baseline_over == "first_turns":
        return [episode[0] for episode in finite if episode]
    return [Pool.of(episode).mean for episode in finite if episode]


def group_relative(
    scores: Sequence[Sequence[float]],
    *,
    divide_by_std: bool,
    baseline_over: BaselineOver,
    singleton: Singleton,
) -> Advantages:
    """Return every turn score relative to its group: the episode part of GRPO and GiGPO.

    Args:
        scores: `[episode][turn]`.
        divide_by_std: divide by the unbiased standard deviation + 1e-6.
        baseline_over: what counts once in mean and standard deviation.
        singleton: what a pool of one gives.
    """
    pool = Pool.of(score_pool(scores, baseline_over))
    if pool.size < 2:
        return [
            [
                score if singleton == "score" and pool.size and math.isfinite(score) else 0.0
                for score in episode
            ]
            for episode in scores
        ]
    return [
        [pool.centre(score, divide_by_std=divide_by_std) for score in episode] for episode in scores
    ]
