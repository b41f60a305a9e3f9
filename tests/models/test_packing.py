"""Packed rows score and learn as padded ones, and where they do not, rows are padded."""

from __future__ import annotations

from copy import deepcopy
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from transformers import AttentionInterface, PreTrainedModel

from sampo.models import packed_attention
from sampo.models.packed_attention import PACKED
from sampo.models.packing import settle_packing
from sampo.models.policy import Policy
from sampo.models.reference import Reference
from sampo.world import World


@pytest.fixture
def batch() -> tuple[Tensor, Tensor, Tensor]:
    """Rows of 9, 4, 1 and 7 tokens; the third has no action, and padding is no pad token."""
    token_ids = torch.randint(4, 99, (4, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.zeros(4, 9, dtype=torch.bool)
    mask[0, 2:4] = mask[0, 7:9] = mask[1, 1:4] = mask[3, 5:7] = True
    return token_ids, torch.tensor([9, 4, 1, 7]), mask


def gradients(policy: Policy, batch: tuple[Tensor, Tensor, Tensor]) -> list[Tensor]:
    scores = policy(*batch)
    (scores.logprobs.sum() + 0.1 * scores.entropy.sum()).backward()
    return [p.grad for p in policy.parameters() if p.grad is not None]


def test_packed_equals_padded_in_scores_and_gradients(model: PreTrainedModel, batch):
    padded, packed = Policy(deepcopy(model)), Policy(model)
    packed.pack(PACKED)
    for one, other in zip(padded(*batch)[:2], packed(*batch)[:2], strict=True):
        torch.testing.assert_close(other, one, rtol=0, atol=2e-6)
    for one, other in zip(gradients(padded, batch), gradients(packed, batch), strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-5)


def test_the_decoder_sees_no_padding(model: PreTrainedModel, batch, monkeypatch):
    policy = Policy(model)
    policy.pack(PACKED)
    seen: list[tuple[int, ...]] = []
    decoder = model.base_model
    decoder.register_forward_pre_hook(
        lambda module, args, kwargs: seen.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    policy(*batch)
    assert seen == [(1, 9 + 4 + 1 + 7)]


def test_rows_packed_together_do_not_see_each_other(model: PreTrainedModel, batch):
    policy = Policy(model)
    policy.pack(PACKED)
    ids, lengths, mask = batch
    before = policy(ids, lengths, mask).logprobs
    other = ids.clone()
    other[0] = 50
    after = policy(other, lengths, mask).logprobs
    assert torch.equal(after[1:], before[1:])
    assert not torch.allclose(after[0], before[0])


def test_transformers_own_packing_agrees(model: PreTrainedModel, batch):
    """Its dense block mask, which `sdpa` makes out of the position ids, is an independent check."""
    ours, theirs = Policy(deepcopy(model)), Policy(model)
    ours.pack(PACKED)
    theirs.pack("sdpa")
    torch.testing.assert_close(theirs(*batch).logprobs, ours(*batch).logprobs, rtol=0, atol=2e-6)


def test_with_gradient_checkpointing_too(model: PreTrainedModel, batch):
    """The attention is asked for again in the backward pass."""
    plain, again = Policy(deepcopy(model)), Policy(model)
    model._set_gradient_checkpointing(
        enable=True, gradient_checkpointing_func=partial(checkpoint, use_reentrant=False)
    )
    for policy in (plain, again):
        policy.train().pack(PACKED)
    for one, other in zip(gradients(plain, batch), gradients(again, batch), strict=True):
        torch.testing.assert_close(other, one)


def test_what_is_wanted_is_done_and_can_be_undone(model: PreTrainedModel, batch):
    policy = Policy(model).train()
    assert not settle_packing(policy, False, World()) and not policy.packed
    assert not settle_packing(policy, "auto", World()), "this is no CUDA device"
    assert settle_packing(policy, True, World()) == PACKED and policy.packed
    assert policy.training
    reference = Reference.copy_of(policy)
    reference.pack(PACKED)
    packed = policy(*batch).logprobs
    torch.testing.assert_close(reference.policy(*batch).logprobs, packed)
    policy.unpack()
    assert model.config._attn_implementation == "sdpa"
    torch.testing.assert_close(policy(*batch).logprobs, packed, rtol=0, atol=2e-6)


def leaky(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: object, **_: object):
    """Let rows see what stands before them."""
    return packed_attention.sdpa_attention_forward(module, query, key, value, None)


def missing(*_: object, **__: object):
    raise ImportError("no kernel of that name")


@pytest.mark.parametrize(
    ("attention", "complaint"),
    [(leaky, "differ by .* from those of single rows"), (missing, "no kernel of that name")],
)
def test_wrong_or_missing_attention_falls_back_with_one_warning(
    model: PreTrainedModel, batch, monkeypatch, attention, complaint: str
):
    policy = Policy(model)
    before = policy(*batch).logprobs
    monkeypatch.setitem(AttentionInterface._global_mapping, PACKED, attention)
    with pytest.warns(UserWarning, match=complaint) as warned:
        assert not settle_packing(policy, True, World())
    assert len(warned) == 1 and not policy.packed
    assert torch.equal(policy(*batch).logprobs, before)


def test_models_with_other_layers_are_padded(model: PreTrainedModel):
    model.config.sliding_window = 4
    with pytest.warns(UserWarning, match="sliding_window"):
        assert not settle_packing(Policy(model), True, World())


def test_a_problem_on_another_rank_is_everybodys(model: PreTrainedModel, monkeypatch):
    policy = Policy(model)
    monkeypatch.setattr(World, "gather", lambda self, work: [work(), "rank 1 has no kernel"])
    with pytest.warns(UserWarning, match="rank 1 has no kernel"):
        assert not settle_packing(policy, True, World())
    assert not policy.packed


def test_an_attention_that_was_asked_for_is_kept(model: PreTrainedModel):
    model.set_attn_implementation("eager")
    with pytest.warns(UserWarning, match="attn_implementation eager knows of no packed rows"):
        assert settle_packing(Policy(model), True, World()) is None
    assert model.config._attn_implementation == "eager"
