"""How much a reply repeats itself: an early sign of a collapsing policy."""

from __future__ import annotations

from collections.abc import Sequence


def repetition_rate(token_ids: Sequence[int], n: int = 4) -> float:
    """Return the share of n-grams that occurred before in the same reply.

    `1 - distinct n-grams / n-grams`: 0 if no n-gram comes twice (or there are not two of them),
    near 1 for one token over and over.

    Args:
        token_ids: what the policy wrote in one turn.
        n: tokens of an n-gram.

    Example:
        >>> repetition_rate([1, 2, 3, 4, 1, 2, 3, 4])  # five 4-grams, the last is the first again
        0.2
    """
    count = len(token_ids) - n + 1
    if count < 2:
        return 0.0
    distinct = set(zip(*(token_ids[start:] for start in range(n)), strict=False))
    return (count - len(distinct)) / count
