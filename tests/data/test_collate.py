"""Episodes into rows: the exact tokens, masks and ids."""

import pytest
import torch

from sampo.data.collate import collate
from sampo.episode import Episode, StopReason, Turn


def turn(prompt: list[int], action: list[int], *, starts_row: bool, version: int = 5) -> Turn:
    return Turn(
        observation="o",
        reply="r",
        action="a",
        reward=0.0,
        starts_row=starts_row,
        prompt_ids=tuple(prompt),
        action_ids=tuple(action),
        sampling_logprobs=tuple(-0.1 * token for token in action),
        policy_version=version,
    )


def episode(*turns: Turn) -> Episode:
    return Episode(task="t", seed=0, turns=turns, success=True, stop_reason=StopReason.TERMINATED)


def test_transcript_rows_join_the_turns_of_an_episode() -> None:
    """Prompt tokens 10+, action tokens 1..9.

    episode 0   10 11  1  2  12  3        one row of two turns
    episode 1   13  4                     one row of one turn
    """
    first = episode(
        turn([10, 11], [1, 2], starts_row=True), turn([12], [3], starts_row=False, version=6)
    )
    second = episode(turn([13], [4], starts_row=True))
    batch = collate([first, second], [[0.5, -1.0], [2.0]], pad_id=99)
    assert batch.token_ids.tolist() == [[10, 11, 1, 2, 12, 3], [13, 4, 99, 99, 99, 99]]
    assert batch.lengths.tolist() == [6, 2]
    assert batch.action_mask.int().tolist() == [[0, 0, 1, 1, 0, 1], [0, 1, 0, 0, 0, 0]]
    assert batch.turn_ids.tolist() == [[-1, -1, 0, 0, -1, 1], [-1, 2, -1, -1, -1, -1]]
    assert batch.episode_ids.tolist() == [[-1, -1, 0, 0, -1, 0], [-1, 1, -1, -1, -1, -1]]
    assert batch.advantages.tolist() == [[0, 0, 0.5, 0.5, 0, -1.0], [0, 2.0, 0, 0, 0, 0]]
    torch.testing.assert_close(
        batch.sampling_logprobs[0], torch.tensor([0, 0, -0.1, -0.2, 0, -0.3])
    )
    assert batch.policy_version == 5


def test_window_rows_are_turns() -> None:
    both = episode(turn([10], [1], starts_row=True), turn([11, 12], [2], starts_row=True))
    batch = collate([both], [[1.0, 2.0]], pad_id=0)
    assert batch.token_ids.tolist() == [[10, 1, 0], [11, 12, 2]]
    assert batch.turn_ids.tolist() == [[-1, 0, -1], [-1, -1, 1]]
    assert batch.episode_ids.tolist() == [[-1, 0, -1], [-1, -1, 0]]


def test_advantages_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        collate([episode(turn([1], [2], starts_row=True))], [[]], pad_id=0)
    with pytest.raises(ValueError, match="No turn"):
        collate([], [], pad_id=0)
