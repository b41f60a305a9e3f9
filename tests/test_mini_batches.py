"""Which rows each optimiser step is taken on."""

import pytest
import torch

from sampo.batch import RolloutBatch
from sampo.errors import ConfigError
from sampo.mini_batches import MiniBatches


def batch_of(episodes: list[int]) -> RolloutBatch:
    ids = torch.tensor(episodes)[:, None]
    return RolloutBatch(
        token_ids=ids,
        lengths=torch.ones(len(ids), dtype=torch.int64),
        action_mask=ids >= 0,
        turn_ids=torch.arange(len(ids))[:, None],
        episode_ids=ids,
        advantages=torch.zeros(len(ids), 1),
        sampling_logprobs=torch.zeros(len(ids), 1),
        policy_version=0,
    )


def split(batch: RolloutBatch, together="turn", update=0, **settings) -> list[list[int]]:
    defaults = {"number": None, "rows": None, "epochs": 1, "shuffle": False}
    rows = MiniBatches(**{**defaults, **settings})(batch, together, update)
    return [part.tolist() for part in rows]


def test_in_order_by_number_or_by_rows():
    batch = batch_of([0, 0, 1, 1, 2])
    assert split(batch) == [[0, 1, 2, 3, 4]]
    assert split(batch, number=2) == [[0, 1, 2], [3, 4]]
    assert split(batch, rows=2) == [[0, 1], [2, 3], [4]]
    assert split(batch, number=2, epochs=2) == [[0, 1, 2], [3, 4]] * 2
    assert split(batch, "episode", number=3) == [[0, 1], [2, 3], [4]]


def test_rows_per_step_are_exact_and_the_rest_comes_last():
    assert [len(part) for part in split(batch_of([0] * 10), rows=9)] == [9, 1]
    assert [len(part) for part in split(batch_of([0] * 10), rows=4)] == [4, 4, 2]
    batch = batch_of([0, 0, 0, 1, 1, 2])
    assert split(batch, "episode", rows=4) == [[0, 1, 2], [3, 4, 5]]
    assert split(batch, "episode", rows=2) == [[0, 1, 2], [3, 4], [5]]


def test_shuffling_is_another_one_each_epoch_and_update_but_the_same_again():
    batch = batch_of(list(range(12)))
    once = split(batch, number=3, shuffle=True, epochs=2)
    assert once == split(batch, number=3, shuffle=True, epochs=2)
    assert once[:3] != once[3:]
    assert once != split(batch, number=3, shuffle=True, epochs=2, update=1)
    assert sorted(row for part in once[:3] for row in part) == list(range(12))


def test_contradictions_are_refused():
    with pytest.raises(ConfigError, match="set one of them to null"):
        MiniBatches(number=2, rows=2, epochs=1, shuffle=False)
    with pytest.raises(ConfigError, match=r"model\.epochs must be at least 1, got 0"):
        MiniBatches(number=2, rows=None, epochs=0, shuffle=False)
