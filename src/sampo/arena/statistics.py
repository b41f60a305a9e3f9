"""From seeds to statements: intervals, interquartile means, and who is better than whom.

Few runs say little, and these say how little: everything comes with a bootstrap over seeds,
stratified by environment, so that an easy environment does not stand in for a hard one.

References:
    Agarwal et al., Deep Reinforcement Learning at the Edge of the Statistical Precipice,
    https://arxiv.org/abs/2108.13264
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Scores = Mapping[str, Sequence[float]]
"""The scores of one method: by environment, one per seed."""
_REPEATS = 2000


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number and its bootstrap interval."""

    value: float
    low: float
    high: float


def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean over the last axis."""
    return values.mean(axis=-1)


def interquartile_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the middle half over the last axis; of fewer than four, of all.

    Example:
        >>> float(interquartile_mean(np.array([0.0, 1.0, 2.0, 9.0])))
        1.5
    """
    number = values.shape[-1]
    cut = number // 4
    return np.sort(values, axis=-1)[..., cut : number - cut].mean(axis=-1)


def estimate(
    scores: Scores,
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]] = interquartile_mean,
) -> Estimate:
    """Return a statistic over all seeds and environments, with a 95 % percentile interval.

    With one seed per environment the interval is a point: the spread is not known.

    Args:
        scores: of one method.
        statistic: of all scores together, over the last axis.
    """
    strata = [np.asarray(values, dtype=np.float64) for values in scores.values() if len(values)]
    rng = np.random.default_rng(0)
    drawn = np.concatenate([_draw(rng, values) for values in strata], axis=-1)
    return _with_interval(statistic(np.concatenate(strata)), statistic(drawn))


def probability_of_improvement(mine: Scores, others: Scores) -> Estimate:
    """Return the probability that a run of mine beats one of the others', over environments.

    The Mann-Whitney statistic, ties half, averaged over the environments that both have.

    Raises:
        ValueError: they have none in common.
    """
    pairs = [
        (np.asarray(mine[name], dtype=np.float64), np.asarray(others[name], dtype=np.float64))
        for name in mine
        if name in others and len(mine[name]) and len(others[name])
    ]
    if not pairs:
        raise ValueError("The two methods have no environment in common.")
    rng = np.random.default_rng(0)
    drawn = [(_draw(rng, a), _draw(rng, b)) for a, b in pairs]
    return _with_interval(_beats(pairs), _beats(drawn))


def _draw(rng: np.random.Generator, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `[repeats, seeds]`, the seeds of each repeat drawn with replacement."""
    return rng.choice(values, (_REPEATS, len(values)))


def _with_interval(value: NDArray[np.float64], drawn: NDArray[np.float64]) -> Estimate:
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Estimate(value=float(value), low=float(low), high=float(high))


def _beats(
    pairs: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> NDArray[np.float64]:
    """Return the share of pairs that the first wins, over the last axes."""
    wins: list[NDArray[np.float64]] = []
    for a, b in pairs:
        first, second = a[..., :, None], b[..., None, :]
        wins.append(((first > second) + 0.5 * (first == second)).mean(axis=(-2, -1)))
    return np.mean(wins, axis=0)


def rank_probabilities(scores: Mapping[str, Scores]) -> dict[str, list[float]]:
    """Return for each method how probable each rank is, best first, by the mean over environments.

    Of each bootstrap draw the methods are sorted by the mean of their environments' means.
    """
    names = list(scores)
    rng = np.random.default_rng(0)
    means = np.zeros((_REPEATS, len(names)))
    for place, name in enumerate(names):
        strata = [np.asarray(values) for values in scores[name].values() if len(values)]
        draws = [rng.choice(v, (_REPEATS, len(v))).mean(axis=1) for v in strata]
        means[:, place] = np.mean(draws, axis=0)
    # A little noise shares ties out.
    order = np.argsort(-(means + rng.uniform(0, 1e-9, means.shape)), axis=1)
    ranks = np.argsort(order, axis=1)
    return {
        name: [float((ranks[:, place] == rank).mean()) for rank in range(len(names))]
        for place, name in enumerate(names)
    }


def performance_profile(values: Sequence[float], thresholds: Sequence[float]) -> list[float]:
    """Return the share of runs with at least each threshold.

    Example:
        >>> performance_profile([0.2, 0.6], [0.1, 0.5, 0.9])
        [1.0, 0.5, 0.0]
    """
    known = np.asarray(values)
    return [float((known >= threshold).mean()) for threshold in thresholds]
