"""What rows have in common at their beginning is written, computed and learnt from once."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from sampo.models.packed_attention import PACKED
from sampo.models.packed_rows import PackedRows, common_beginning
from sampo.models.policy import Policy

A, B, C, D, E, X = 1, 2, 3, 4, 5, 0


def test_the_layout_of_two_rows() -> None:
    """Rows `a b c` and `a b d e`; `x` is padding."""
    ids, lengths = torch.tensor([[A, B, C, X], [A, B, D, E]]), torch.tensor([3, 4])
    plain = PackedRows.of(ids, lengths)
    assert plain.token_ids.tolist() == [[A, B, C, A, B, D, E]]
    assert plain.positions.tolist() == [[0, 1, 2, 0, 1, 2, 3]]
    assert plain.offsets.tolist() == [0, 3]
    assert plain.attention["cu_seq_lens_q"].tolist() == [0, 3, 7]
    assert "key_order" not in plain.attention
    shared = PackedRows.of(ids, lengths, 2)
    assert shared.token_ids.tolist() == [[A, B, C, D, E]]
    assert shared.positions.tolist() == [[0, 1, 2, 2, 3]]
    # Column 2 of the first row is at 2; columns 2 and 3 of the second are at 3 and 4.
    assert shared.offsets.tolist() == [0, 1]
    assert shared.attention["cu_seq_lens_q"].tolist() == [0, 2, 3, 5]
    assert shared.attention["cu_seq_lens_k"].tolist() == [0, 2, 5, 9]
    order = shared.attention["key_order"]
    assert shared.token_ids[0, order].tolist() == [A, B, A, B, C, A, B, D, E]
    assert (shared.attention["max_length_q"], shared.attention["max_length_k"]) == (2, 4)


@pytest.mark.parametrize(
    ("same", "first_action", "shortest", "expected"),
    [
        (30, 35, 40, 30),  # all that is the same
        (30, 25, 40, 24),  # the token before an action predicts it, so each row has its own
        (30, 35, 20, 19),  # a row keeps a token of its own
        (10, 35, 40, 0),  # too short to be worth while
    ],
)
def test_how_much_is_common(same: int, first_action: int, shortest: int, expected: int) -> None:
    ids = torch.arange(80).reshape(2, 40)
    ids[1, :same] = ids[0, :same]
    mask = torch.zeros(2, 40, dtype=torch.bool)
    mask[0, first_action:] = True
    assert common_beginning(ids, torch.tensor([40, shortest]), mask) == expected
    assert common_beginning(ids[:1], torch.tensor([40]), mask[:1]) == 0


def learn(policy: Policy, batch: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, list[Tensor]]:
    scores = policy(*batch)
    (scores.logprobs.sum() + 0.1 * scores.entropy.sum()).backward()
    return scores.logprobs.detach(), [p.grad for p in policy.parameters() if p.grad is not None]


def test_scores_and_gradients_are_those_of_padded_rows(model: PreTrainedModel) -> None:
    ids = torch.randint(4, 99, (4, 40), generator=torch.Generator().manual_seed(1))
    ids[:, :20] = ids[0, :20]
    lengths = torch.tensor([40, 25, 33, 22])
    columns = torch.arange(40)[None]
    batch = (ids, lengths, (columns > 20) & (columns < lengths[:, None]))
    padded, packed = Policy(deepcopy(model)), Policy(model)
    packed.pack(PACKED)
    seen: list[tuple[int, ...]] = []
    model.base_model.register_forward_pre_hook(
        lambda module, args, kwargs: seen.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    (one, slope), (other, slope_too) = learn(padded, batch), learn(packed, batch)
    assert seen == [(1, 20 + 20 + 5 + 13 + 2)]
    torch.testing.assert_close(other, one, rtol=0, atol=2e-6)
    for each, each_too in zip(slope, slope_too, strict=True):
        torch.testing.assert_close(each_too, each, rtol=1e-4, atol=1e-5)
