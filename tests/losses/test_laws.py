"""What every objective promises, whatever its parts."""

from dataclasses import fields, replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sampo.losses import (
    Aggregation,
    Clip,
    DetachedClip,
    EntropyBalanced,
    GeometricMean,
    KLPenalty,
    LossInputs,
    PolicyLoss,
    Ratio,
    Reinforce,
    SequenceMask,
    SoftGate,
    Unclipped,
    combine,
)


def bare(**parts) -> PolicyLoss:
    return PolicyLoss(**{"kl_coef": 0.0, "ratio": Ratio(level="token"), **parts})


GRPO_TOKEN = bare(
    surrogate=Clip(clip_low=0.2, clip_high=0.2, dual_clip=3.0),
    aggregation=Aggregation(kind="token_mean"),
)
LOSSES = {
    "sampo": PolicyLoss(),
    "grpo": replace(GRPO_TOKEN, kl_coef=0.05, entropy_coef=0.01),
    "episode": PolicyLoss(
        ratio=Ratio(level="episode"),
        aggregation=Aggregation(level="episode"),
        surrogate=Clip(clip_low=0.3, clip_high=0.3),
    ),
    "masked": replace(GRPO_TOKEN, masking=SequenceMask(threshold=0.01)),
    "kept_denominator": replace(
        GRPO_TOKEN, masking=SequenceMask(threshold=0.01, denominator="all")
    ),
    "sapo": bare(surrogate=SoftGate()),
    "sapo_masked": bare(surrogate=SoftGate(), masking=SequenceMask(threshold=0.01)),
    "cispo": bare(surrogate=DetachedClip()),
    "gmpo": bare(ratio=Ratio(level="turn"), surrogate=GeometricMean()),
    "aepo": bare(surrogate=EntropyBalanced(advantage_weight=0.0)),
    "aepo_high": bare(
        surrogate=EntropyBalanced(advantage_weight=0.0, gradient_above="high_entropy")
    ),
    "reinforce": bare(surrogate=Reinforce()),
    "unclipped": bare(surrogate=Unclipped()),
    "product": PolicyLoss(ratio=Ratio(level="turn", length_normalise=False)),
    "own_regulariser": PolicyLoss(
        kl=KLPenalty(gradient="importance_weighted"),
        regulariser_aggregation=Aggregation(kind="token_mean"),
    ),
}
seeds = st.integers(0, 2**31)
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())


def gradient_of(loss: PolicyLoss, inputs: LossInputs) -> torch.Tensor:
    (gradient,) = torch.autograd.grad(loss(inputs).loss, inputs.logprobs)
    return gradient


@every_loss
@given(seed=seeds)
@settings(max_examples=8, deadline=None)
def test_masked_tokens_have_no_gradient_whatever_they_hold(loss, planned, random_inputs, seed):
    inputs = planned(loss, random_inputs(seed))
    clean = gradient_of(loss, inputs)
    off = ~inputs.action_mask
    assert not clean[off].any()
    poisoned = replace(
        inputs,
        logprobs=torch.where(off, torch.nan, inputs.logprobs.detach()).requires_grad_(),
        old_logprobs=torch.where(off, -torch.inf, inputs.old_logprobs),
        advantages=torch.where(off, torch.nan, inputs.advantages),
        ref_logprobs=torch.where(off, torch.nan, inputs.ref_logprobs),
        entropy=torch.where(off, torch.nan, inputs.entropy),
        entropy_zscores=torch.where(off, torch.nan, inputs.entropy_zscores),
    )
    assert torch.equal(gradient_of(loss, poisoned), clean)


@every_loss
@given(seed=seeds)
@settings(max_examples=8, deadline=None)
def test_at_ratio_one_the_gradient_is_reinforce(loss, planned, random_inputs, seed):
    surrogate_only = replace(loss, kl_coef=0.0, entropy_coef=0.0)
    inputs = planned(surrogate_only, random_inputs(seed, spread=0.0))
    expected = -(inputs.advantages * inputs.weights)
    assert torch.allclose(gradient_of(surrogate_only, inputs), expected, atol=1e-12)


@every_loss
@given(seed=seeds, cut=st.integers(1, 4))
@settings(max_examples=8, deadline=None)
def test_micro_batches_padding_and_order_change_nothing(loss, planned, random_inputs, seed, cut):
    """Split by episodes (rows 0-1, 2-3, 4), each part with other padding, rows reversed."""
    inputs = planned(loss, random_inputs(seed))
    whole = gradient_of(loss, inputs)
    parts = torch.zeros_like(whole)
    total = 0.0
    metrics = {}
    edges = [0, 2 * ((cut + 1) // 2), 5]
    for start, stop in pairwise(edges):
        rows = torch.arange(start, min(stop, 5)).flip(0)
        piece = padded_rows(inputs, rows, extra=cut)
        output = loss(piece)
        total += output.loss.item()
        metrics = combine(metrics, output.metrics)
        (gradient,) = torch.autograd.grad(output.loss, piece.logprobs)
        parts[rows] = gradient[:, : whole.shape[1]]
    assert torch.allclose(parts, whole, atol=1e-12)
    output = loss(inputs)
    assert total == pytest.approx(output.loss.item(), abs=1e-9)
    assert {name: metric.value for name, metric in metrics.items()} == pytest.approx(
        {name: metric.value for name, metric in output.metrics.items()}, abs=1e-6
    )


@every_loss
def test_packing_rows_into_one_changes_nothing(loss, planned, random_inputs):
    inputs = planned(loss, random_inputs(3))
    packed = replace(
        inputs,
        **{
            field.name: value.detach().reshape(1, -1)
            for field in fields(inputs)
            if (value := getattr(inputs, field.name)) is not None
        },
    )
    packed = replace(packed, logprobs=packed.logprobs.requires_grad_())
    whole = gradient_of(loss, inputs)
    assert torch.allclose(gradient_of(loss, packed).reshape(whole.shape), whole, atol=1e-12)


def padded_rows(inputs: LossInputs, rows: torch.Tensor, extra: int) -> LossInputs:
    """Return some rows with `extra` columns of padding."""

    def pad(values: torch.Tensor, fill: float) -> torch.Tensor:
        picked = values.detach()[rows]
        return torch.cat([picked, picked.new_full((len(rows), extra), fill)], dim=1)

    assert inputs.ref_logprobs is not None
    assert inputs.entropy is not None
    assert inputs.regulariser_weights is not None
    assert inputs.entropy_zscores is not None
    return LossInputs(
        logprobs=pad(inputs.logprobs, 0.0).requires_grad_(),
        old_logprobs=pad(inputs.old_logprobs, 0.0),
        advantages=pad(inputs.advantages, 0.0),
        action_mask=pad(inputs.action_mask, False),
        turn_ids=pad(inputs.turn_ids, -1),
        episode_ids=pad(inputs.episode_ids, -1),
        weights=pad(inputs.weights, 0.0),
        regulariser_weights=pad(inputs.regulariser_weights, 0.0),
        ref_logprobs=pad(inputs.ref_logprobs, 0.0),
        entropy=pad(inputs.entropy, 0.0),
        entropy_zscores=pad(inputs.entropy_zscores, 0.0),
        keep=None if inputs.keep is None else pad(inputs.keep, False),
    )


@every_loss
@given(seed=seeds, size=st.sampled_from([30.0, 300.0, 3e4, 1e30]))
@settings(max_examples=8, deadline=None)
def test_extreme_log_ratios_stay_finite(loss, planned, random_inputs, seed, size):
    drawn = random_inputs(seed)
    single = replace(
        drawn,
        logprobs=(drawn.old_logprobs + size * (drawn.logprobs - drawn.old_logprobs))
        .detach()
        .float()
        .requires_grad_(),
        old_logprobs=drawn.old_logprobs.float(),
        advantages=drawn.advantages.float(),
        ref_logprobs=drawn.ref_logprobs.float(),
        entropy=drawn.entropy.float(),
        entropy_zscores=drawn.entropy_zscores.float(),
    )
    inputs = planned(loss, single)
    output = loss(inputs)
    (gradient,) = torch.autograd.grad(output.loss, inputs.logprobs)
    assert torch.isfinite(output.loss)
    assert torch.isfinite(gradient).all()
