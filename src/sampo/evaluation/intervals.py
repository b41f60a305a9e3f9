"""Confidence intervals of a success rate, without and with several samples per task.

Pure arithmetic on counts; the report calls it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist


def wilson_interval(successes: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Wilson score interval of a success rate of independent trials.

    Unlike the textbook `p +- z * sqrt(p(1-p)/n)` it has a width at 0 and 1 and keeps its coverage
    for small `n`. With the normal quantile `z` its ends are

        (p + z^2/2n +- z * sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n),    p = successes / n.

    Args:
        successes: successful trials; need not be whole (see `clustered_interval`).
        n: trials. 0 says nothing: the interval is (0, 1).
        confidence: coverage, in (0, 1).

    References:
        E. B. Wilson, Probable Inference, the Law of Succession, and Statistical Inference (1927),
        https://doi.org/10.1080/01621459.1927.10502953

    Example:
        >>> [round(end, 3) for end in wilson_interval(8, 10)]
        [0.49, 0.943]
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be in (0, 1), got {confidence}.")
    if not 0 <= successes <= n:
        raise ValueError(f"successes must be in [0, n], got {successes} of {n}.")
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    p = successes / n
    centre = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max((centre - half) / scale, 0.0), min((centre + half) / scale, 1.0)


def clustered_interval(
    counts: Sequence[tuple[int, int]], confidence: float = 0.95
) -> tuple[float, float]:
    """Return the interval of a success rate whose trials come in clusters: samples of one task.

    Samples of one task resemble each other, so `n` of them say less than `n` tasks. The Wilson
    interval is taken at the *effective* number of trials `n / D`, with the design effect

        D = sum_g (s_g - p * n_g)^2 / (n * p * (1 - p)),    at least 1,

    which is the cluster-robust (sandwich) variance of `p` over its binomial variance. One sample
    per task gives D = 1, the Wilson interval itself; tasks whose samples always agree give the
    Wilson interval over tasks. At p = 0 or 1, where D is 0/0, the samples do agree, and the latter
    is used. It is a formula, not a bootstrap: no seed, and it has a width at 0 and 1. With fewer
    than about 10 tasks it is too narrow, as every cluster-robust interval is.

    Args:
        counts: per task, (successes, samples). Tasks without samples are ignored.
        confidence: coverage, in (0, 1).

    References:
        L. Kish, Survey Sampling (1965): the design effect.
        E. Miller, Adding Error Bars to Evals (2024), https://arxiv.org/abs/2411.00640: clustered
        standard errors for evaluations of language models.

    Example:
        >>> clustered_interval([(1, 1)] * 8 + [(0, 1)] * 2) == wilson_interval(8, 10)
        True
    """
    sampled = [(s, n) for s, n in counts if n > 0]
    successes = sum(s for s, _ in sampled)
    total = sum(n for _, n in sampled)
    if total == 0:
        return wilson_interval(0, 0, confidence)
    p = successes / total
    if successes in (0, total):
        design = total / len(sampled)
    else:
        between = sum((s - p * n) ** 2 for s, n in sampled)
        design = max(between / (total * p * (1 - p)), 1.0)
    effective = total / design
    return wilson_interval(p * effective, effective, confidence)
