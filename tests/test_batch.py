"""Batches: selection, units that stay together, mini- and micro-batches."""

from dataclasses import replace

import torch

from sampo.batch import RolloutBatch, ScoredBatch, split_evenly


def make_batch() -> RolloutBatch:
    """Three rows: two turns of episode 0 (3 and 5 tokens) and one turn of episode 1 (2 tokens).

    tokens       1 2 3 . .     4 5 6 7 8     9 10 . . .
    action mask  0 1 1 . .     0 0 1 1 1     0  1 . . .
    """
    mask = torch.tensor([[0, 1, 1, 0, 0], [0, 0, 1, 1, 1], [0, 1, 0, 0, 0]]).bool()
    turns = torch.tensor([[0], [1], [2]]).expand(3, 5)
    episodes = torch.tensor([[0], [0], [1]]).expand(3, 5)
    return RolloutBatch(
        token_ids=torch.tensor([[1, 2, 3, 0, 0], [4, 5, 6, 7, 8], [9, 10, 0, 0, 0]]),
        lengths=torch.tensor([3, 5, 2]),
        action_mask=mask,
        turn_ids=torch.where(mask, turns, -1),
        episode_ids=torch.where(mask, episodes, -1),
        advantages=mask * 1.0,
        sampling_logprobs=mask * -0.5,
        policy_version=4,
    )


def test_select_trims_to_the_longest_selected_row() -> None:
    part = make_batch().select(torch.tensor([2, 0]))
    assert part.token_ids.tolist() == [[9, 10, 0], [1, 2, 3]]
    assert part.lengths.tolist() == [2, 3]
    assert part.turn_ids.tolist() == [[-1, 2, -1], [-1, 0, 0]]
    assert part.policy_version == 4


def test_scored_batch_selects_scores_with_their_rows() -> None:
    batch = make_batch()
    scored = ScoredBatch(
        batch=batch, old_logprobs=batch.sampling_logprobs, ref_logprobs=None, keep=batch.action_mask
    )
    part = scored.select(torch.tensor([2]))
    assert part.old_logprobs is not None and part.keep is not None
    assert part.old_logprobs.tolist() == [[0.0, -0.5]]
    assert part.keep.tolist() == [[False, True]]
    assert part.ref_logprobs is None and part.weights is None


def test_rows_of_an_episode_are_one_unit_only_when_asked() -> None:
    batch = make_batch()
    assert batch.units("turn").tolist() == [0, 1, 2]
    assert batch.units("episode").tolist() == [0, 0, 1]


def test_split_keeps_units_whole_and_in_order() -> None:
    parts = split_evenly(torch.tensor([0, 0, 1, 2, 2]), 2)
    assert [rows.tolist() for rows in parts] == [[0, 1, 2], [3, 4]]
    assert len(split_evenly(torch.tensor([0, 1]), 5)) == 2


def test_equal_rows_are_one_kind_unless_their_masks_differ() -> None:
    batch = make_batch().select(torch.tensor([1, 0, 1, 2, 0]))
    first, kind = batch.distinct_rows()
    assert sorted(first.tolist()) == [0, 1, 3]
    assert [int(first[k]) for k in kind] == [0, 1, 0, 3, 1]
    mask = batch.action_mask.clone()
    mask[2, 2] = False
    first, _ = replace(batch, action_mask=mask).distinct_rows()
    assert sorted(first.tolist()) == [0, 1, 2, 3]
