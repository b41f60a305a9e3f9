# pyright: strict, reportUnknownMemberType=false
"""Micro-batches: the rows of one forward and backward pass, by a budget of tokens. Pure.

Which rows share a pass changes memory and speed, never the gradient.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import cast

import torch
from torch import Tensor


def by_token_budget(
    lengths: Tensor, units: Tensor, budget: int, *, packed: bool = False
) -> list[Tensor]:
    """Return row indices of micro-batches of at most `budget` tokens, padding included.

    Units are sorted by their longest row, longest first, so that padding stays small. A unit
    larger than the budget gets a micro-batch of its own.

    Args:
        lengths: int64 `[B]`, tokens of each row.
        units: int64 `[B]`, the unit of each row; see `RolloutBatch.units`.
        budget: most tokens of one micro-batch, padding included.
        packed: there is no padding; micro-batches are as few as the budget allows, and hold nearly
            equal numbers of tokens.
    """
    members: dict[int, list[int]] = {}
    for row, unit in enumerate(cast(list[int], units.tolist())):
        members.setdefault(unit, []).append(row)
    sizes = cast(list[int], lengths.tolist())
    parts = _balanced if packed else _padded
    groups = parts(list(members.values()), sizes, budget)
    return [torch.tensor(group, device=lengths.device) for group in groups]


def _padded(units: list[list[int]], sizes: list[int], budget: int) -> list[list[int]]:
    longest = {rows[0]: max(sizes[row] for row in rows) for rows in units}
    groups: list[list[int]] = []
    width = 0
    for rows in sorted(units, key=lambda rows: -longest[rows[0]]):
        if groups and (len(groups[-1]) + len(rows)) * width <= budget:
            groups[-1].extend(rows)
        else:
            groups.append(list(rows))
            width = max(longest[rows[0]], 1)
    return groups


def _balanced(units: list[list[int]], sizes: list[int], budget: int) -> list[list[int]]:
    """Give each unit, largest first, to the emptiest of as few groups as will do."""
    tokens = {rows[0]: sum(sizes[row] for row in rows) for rows in units}
    order = sorted(units, key=lambda rows: -tokens[rows[0]])
    limit = max([budget, *tokens.values()])  # a larger unit gets a group of its own
    for parts in range(max(-(-sum(tokens.values()) // budget), 1), len(units) + 1):
        groups: list[list[int]] = [[] for _ in range(parts)]
        heap = [(0, number) for number in range(parts)]
        for rows in order:
            load, number = heappop(heap)
            groups[number].extend(rows)
            heappush(heap, (load + tokens[rows[0]], number))
        if max(heap)[0] <= limit:
            return [group for group in groups if group]
    return [list(rows) for rows in order]
