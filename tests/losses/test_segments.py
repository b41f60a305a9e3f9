"""Segments: which tokens belong together, and their sums and means."""

import torch

from sampo.losses.segments import segments, widest


def test_turns_of_one_row_and_of_several(batch_of):
    """Turn 7 has two tokens, turn 9 one, turn 3 one in another row.

    ::

        row 0   . 7 7 . 9
        row 1   3 . . . .
    """
    batch = batch_of([[-1, 7, 7, -1, 9], [3, -1, -1, -1, -1]])
    parts = segments(batch, "turn")
    values = torch.tensor([[50.0, 1.0, 3.0, 50.0, 5.0], [8.0, 50.0, 50.0, 50.0, 50.0]])
    # In order of id: 3 -> 8; 7 -> (1 + 3) / 2; 9 -> 5.
    assert parts.lengths.tolist() == [1, 2, 1]
    assert parts.mean(values).tolist() == [8.0, 2.0, 5.0]
    assert parts.expand(parts.sum(values)).tolist() == [[0, 4, 4, 0, 5], [8, 0, 0, 0, 0]]


def test_an_episode_may_spread_over_rows(batch_of):
    batch = batch_of([[0, 0], [1, -1], [2, 2]], [[5, 5], [5, -1], [4, 4]])
    parts = segments(batch, "episode")
    assert parts.lengths.tolist() == [2, 3]
    assert parts.sum(torch.tensor([[1.0, 1], [1, 9], [2, 2]])).tolist() == [4.0, 3.0]


def test_token_level_is_one_segment_per_action_token(batch_of):
    parts = segments(batch_of([[0, -1, 0]]), "token")
    assert parts.lengths.tolist() == [1, 1]
    values = torch.tensor([[3.0, 7.0, 5.0]])
    assert parts.expand(parts.mean(values)).tolist() == [[3.0, 0.0, 5.0]]


def test_nothing_on_the_mask(batch_of):
    batch = batch_of([[-1, -1]])
    for level in ("token", "turn", "episode"):
        parts = segments(batch, level)
        assert len(parts) == 0
        assert parts.expand(parts.mean(torch.ones(1, 2))).tolist() == [[0.0, 0.0]]


def test_values_off_the_mask_are_never_read(batch_of):
    parts = segments(batch_of([[4, -1]]), "turn")
    assert parts.sum(torch.tensor([[1.0, torch.nan]])).tolist() == [1.0]


def test_widest():
    assert widest() == "token"
    assert widest("turn", "episode", "token") == "episode"
