"""Micro-batches dealt to the ranks of a run, of about equal cost on each. Pure."""

from __future__ import annotations

from dataclasses import fields, replace

import torch
from torch import Tensor

from sampo.batch import RolloutBatch
from sampo.token_budget import by_token_budget


def deal(
    lengths: Tensor, units: Tensor, budget: int, ranks: int, *, packed: bool = False
) -> list[list[Tensor | None]]:
    """Return each rank's micro-batches, as many for one as for any other.

    They are as in `by_token_budget`, of the smallest budget that takes no more passes per rank than
    the given one: where there is little to do, it is cut finer, so that nobody is idle.

    Args:
        lengths: int64 `[B]`, tokens of each row.
        units: int64 `[B]`, the unit of each row; see `RolloutBatch.units`.
        budget: most tokens of one micro-batch, padding included.
        ranks: number of ranks.
        packed: rows stand one behind the other, and there is no padding.

    Returns:
        Row indices per rank and pass. None: the rank has nothing to do in this pass, and takes part
        in what all ranks do together.

    Example (all four rows would fit into one pass; two ranks take a part each):
        >>> deal(torch.tensor([4, 3, 2, 2]), torch.arange(4), 100, 2)
        [[tensor([0, 1])], [tensor([2, 3])]]
    """
    parts = by_token_budget(lengths, units, budget, packed=packed)
    if ranks == 1:
        return [list(parts)]
    passes = -(-len(parts) // ranks)
    low, high = 1, budget
    while low < high:
        middle = (low + high) // 2
        if len(by_token_budget(lengths, units, middle, packed=packed)) <= passes * ranks:
            high = middle
        else:
            low = middle + 1
    parts = by_token_budget(lengths, units, high, packed=packed)
    dealt: list[list[Tensor | None]] = [[] for _ in range(ranks)]
    load = [0] * ranks
    for part in sorted(parts, key=lambda part: -_cost(lengths, part, packed)):
        free = [rank for rank in range(ranks) if len(dealt[rank]) < passes]
        least = min(free, key=lambda rank: load[rank])
        dealt[least].append(part)
        load[least] += _cost(lengths, part, packed)
    return [mine + [None] * (passes - len(mine)) for mine in dealt]


def idle(batch: RolloutBatch) -> RolloutBatch:
    """Return one token of a batch with no action in it: what a rank computes that has no rows.

    It takes part in what a pass makes all ranks do (gathering sharded weights, exchanging
    gradients), and its scores and gradients are zero.
    """
    tensors = {f.name: getattr(batch, f.name) for f in fields(batch)}
    cut = {
        name: value[:1, :1]
        for name, value in tensors.items()
        if isinstance(value, Tensor) and value.ndim == 2
    }
    cut["action_mask"] = torch.zeros_like(cut["action_mask"])
    return replace(batch, lengths=torch.ones_like(batch.lengths[:1]), **cut)


def _cost(lengths: Tensor, rows: Tensor, packed: bool) -> int:
    """Return the tokens of a micro-batch, padding included where there is any."""
    return int(lengths[rows].sum()) if packed else len(rows) * int(lengths[rows].max())
