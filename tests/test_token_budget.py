"""Micro-batches hold every row once, within the budget, padded or packed."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from sampo.micro_batches import deal
from sampo.token_budget import by_token_budget


def test_micro_batches_are_filled_longest_first() -> None:
    """Lengths 3 5 2 under a budget of 10: 5+3 (padded 2 x 5 = 10), then 2."""
    lengths = torch.tensor([3, 5, 2])
    groups = by_token_budget(lengths, torch.arange(3), 10)
    assert [rows.tolist() for rows in groups] == [[1, 0], [2]]
    together = by_token_budget(lengths, torch.tensor([0, 0, 1]), 10)
    assert [rows.tolist() for rows in together] == [[0, 1], [2]]
    alone = by_token_budget(lengths, torch.arange(3), 1)
    assert sorted(rows.tolist() for rows in alone) == [[0], [1], [2]]


def test_packed_micro_batches_are_few_and_even() -> None:
    """Lengths 8 1 5 4 2 (20 tokens) under 10: two passes of 8+2 and 5+4+1, both full."""
    groups = by_token_budget(torch.tensor([8, 1, 5, 4, 2]), torch.arange(5), 10, packed=True)
    assert [sorted(rows.tolist()) for rows in groups] == [[0, 4], [1, 2, 3]]
    # Under 12 two passes are needed as well, and neither is full: 10 and 10, not 12 and 8.
    groups = by_token_budget(torch.tensor([8, 1, 5, 4, 2]), torch.arange(5), 12, packed=True)
    assert [sorted(rows.tolist()) for rows in groups] == [[0, 4], [1, 2, 3]]


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=30),
    episode_size=st.integers(1, 4),
    budget=st.integers(1, 200),
    packed=st.booleans(),
)
def test_micro_batches_hold_every_row_once_within_the_budget(
    lengths: list[int], episode_size: int, budget: int, packed: bool
) -> None:
    units = torch.arange(len(lengths)) // episode_size
    groups = by_token_budget(torch.tensor(lengths), units, budget, packed=packed)
    assert sorted(row for group in groups for row in group.tolist()) == list(range(len(lengths)))
    largest = max(
        sum(n for n, unit in zip(lengths, units.tolist(), strict=True) if unit == each)
        for each in set(units.tolist())
    )
    for group in groups:
        rows = group.tolist()
        inside = {int(units[row]) for row in rows}
        assert all(row in rows for row in range(len(lengths)) if int(units[row]) in inside)
        if packed:
            assert sum(lengths[row] for row in rows) <= max(budget, largest)
        else:
            assert len(rows) * max(lengths[row] for row in rows) <= budget or len(inside) == 1


def test_packing_takes_fewer_passes_and_balances_them() -> None:
    lengths = torch.randint(10, 500, (200,), generator=torch.Generator().manual_seed(0))
    padded, packed = (
        by_token_budget(lengths, torch.arange(200), 4096, packed=flag) for flag in (False, True)
    )
    assert len(packed) <= -(-int(lengths.sum()) // 4096) + 1 < len(padded) + 1
    tokens = [int(lengths[rows].sum()) for rows in packed]
    assert max(tokens) - min(tokens) < 100


def test_packed_micro_batches_are_dealt_evenly_to_ranks() -> None:
    lengths = torch.randint(10, 500, (60,), generator=torch.Generator().manual_seed(0))
    dealt = deal(lengths, torch.arange(60), 4096, 4, packed=True)
    passes = {len(mine) for mine in dealt}
    assert len(passes) == 1, "as many on every rank"
    parts = [[rows for rows in mine if rows is not None] for mine in dealt]
    assert sorted(torch.cat([rows for mine in parts for rows in mine]).tolist()) == list(range(60))
    loads = [sum(int(lengths[rows].sum()) for rows in mine) for mine in parts]
    assert max(loads) < 1.1 * sum(loads) / 4
