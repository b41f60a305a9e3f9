"""pass@k: the chance that at least one of k samples of a task is right.

Pure arithmetic on counts; the report calls it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def pass_at_k(samples: int, successes: int, k: int) -> float:
    """Return the unbiased estimate of pass@k of one task.

    That is the share of the subsets of k samples that hold a success,

        1 - C(n - c, k) / C(n, k),    n samples, c of them right.

    The plug-in estimate 1 - (1 - c/n)^k is too low.

    Args:
        samples: n, at least k.
        successes: c, at most n.
        k: at least 1.

    Raises:
        ValueError: The counts do not fit each other.

    References:
        M. Chen et al., Evaluating Large Language Models Trained on Code (2021),
        https://arxiv.org/abs/2107.03374, Eq. 1.

    Example:
        >>> pass_at_k(4, 1, 2)  # 3 of the 6 pairs hold the one success
        0.5
    """
    if not 1 <= k <= samples or not 0 <= successes <= samples:
        raise ValueError(f"pass@{k} cannot be told from {successes} successes in {samples}.")
    return 1.0 - math.comb(samples - successes, k) / math.comb(samples, k)


def mean_pass_at(counts: Sequence[tuple[int, int]]) -> dict[int, float]:
    """Return pass@k, averaged over tasks, for k = 1, 2, 4, ... and the most samples of all tasks.

    pass@1 is the mean over tasks of their success rates, which is called avg@n where all of them
    have n samples.

    Args:
        counts: per task, (successes, samples). Tasks without samples are ignored; k goes up to
            the fewest samples of a task, so that every k is averaged over the same tasks.

    Example:
        >>> mean_pass_at([(1, 4), (0, 4), (4, 4)])
        {1: 0.4166666666666667, 2: 0.5, 4: 0.6666666666666666}
    """
    sampled = [(successes, n) for successes, n in counts if n > 0]
    if not sampled:
        return {}
    most = min(n for _, n in sampled)
    ks = sorted({2**power for power in range(most.bit_length())} | {most})
    return {
        k: sum(pass_at_k(n, successes, k) for successes, n in sampled) / len(sampled) for k in ks
    }
