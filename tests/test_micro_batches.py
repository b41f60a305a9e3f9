"""Micro-batches dealt to ranks: nothing lost, as many passes for all, and about equal cost."""

import pytest
import torch

from sampo.micro_batches import deal, idle
from sampo.token_budget import by_token_budget
from test_module import rollout


def cost(lengths: torch.Tensor, passes: list) -> int:
    return sum(len(rows) * int(lengths[rows].max()) for rows in passes if rows is not None)


def test_one_rank_has_the_micro_batches_of_the_budget() -> None:
    lengths, units = torch.tensor([5, 3, 8, 2]), torch.arange(4)
    dealt = deal(lengths, units, 10, 1)
    expected = by_token_budget(lengths, units, 10)
    assert [rows.tolist() for rows in dealt[0]] == [rows.tolist() for rows in expected]


@pytest.mark.parametrize("ranks", [2, 3, 8])
@pytest.mark.parametrize("budget", [300, 2000, 10**6])
@pytest.mark.parametrize("packed", [False, True])
def test_every_row_is_computed_once_in_as_many_passes_on_each_rank(
    ranks: int, budget: int, packed: bool
) -> None:
    lengths = torch.randint(20, 200, (150,), generator=torch.Generator().manual_seed(0))
    dealt = deal(lengths, torch.arange(150), budget, ranks, packed=packed)
    rows = torch.cat([rows for mine in dealt for rows in mine if rows is not None])
    assert sorted(rows.tolist()) == list(range(150))
    assert len({len(mine) for mine in dealt}) == 1
    within = [rows for mine in dealt for rows in mine if rows is not None and len(rows) > 1]
    assert all(len(rows) * int(lengths[rows].max()) <= budget for rows in within) or packed


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_have_about_equal_shares(ranks: int) -> None:
    """512 rows of 100 to 1000 tokens in micro-batches of 16,384: within 5 % of each other."""
    lengths = torch.randint(100, 1000, (512,), generator=torch.Generator().manual_seed(0))
    loads = [cost(lengths, mine) for mine in deal(lengths, torch.arange(512), 16384, ranks)]
    assert max(loads) <= 1.05 * sum(loads) / ranks


def test_with_fewer_units_than_ranks_the_others_idle() -> None:
    """Two units of two rows each, which must stay together; three ranks."""
    dealt = deal(torch.tensor([4, 4, 3, 3]), torch.tensor([0, 0, 1, 1]), 100, 3)
    assert [[None if rows is None else rows.tolist() for rows in mine] for mine in dealt] == [
        [[0, 1]],
        [[2, 3]],
        [None],
    ]


def test_idling_is_one_token_without_action() -> None:
    batch = idle(rollout())
    assert batch.token_ids.shape == (1, 1)
    assert batch.lengths.tolist() == [1]
    assert not batch.action_mask.any()
