"""The whole objective: hand numbers of the specification, and the laws of a policy loss."""

from dataclasses import replace

import pytest
import torch

from sampo.errors import ConfigError
from sampo.losses import (
    Aggregation,
    Clip,
    EntropyBalanced,
    GeometricMean,
    LossInputs,
    PolicyLoss,
    Ratio,
    SequenceMask,
)

GRPO_CLIP = Clip(clip_low=0.2, clip_high=0.2, dual_clip=3.0)


def bare(**parts) -> PolicyLoss:
    return PolicyLoss(**{"kl_coef": 0.0, "ratio": Ratio(level="token"), **parts})


GRPO_TOKEN = bare(surrogate=GRPO_CLIP, aggregation=Aggregation(kind="token_mean"))
GSPO = bare(ratio=Ratio(level="turn"), surrogate=Clip(clip_low=3e-3, clip_high=4e-3))


@pytest.mark.parametrize(
    ("loss", "value", "clipped", "lower"),
    [
        (GRPO_TOKEN, 0.10019315, 0.230769, 0.076923),
        (
            bare(surrogate=GRPO_CLIP, aggregation=Aggregation(kind="sequence_mean_token_sum")),
            0.32562774,
            0.230769,
            0.076923,
        ),
        (bare(surrogate=GRPO_CLIP), 0.48449910, 0.230769, 0.076923),
        (
            bare(
                surrogate=Clip(clip_low=0.2, clip_high=0.28, dual_clip=3.0),
                aggregation=Aggregation(kind="token_mean"),
            ),
            0.09280854,
            0.230769,
            0.076923,
        ),
        (bare(surrogate=GRPO_CLIP, masking=SequenceMask(threshold=3e-3)), 0.40553918, 0.1, 0.1),
        (
            bare(
                surrogate=GRPO_CLIP,
                aggregation=Aggregation(kind="sum_over_max_length", max_length=500),
            ),
            0.00065126,
            0.230769,
            0.076923,
        ),
        (GSPO, 0.50389439, 0.230769, 0.0),
        (
            bare(ratio=Ratio(level="turn"), surrogate=Clip(clip_low=0.2, clip_high=0.2)),
            0.46449441,
            0.230769,
            0.0,
        ),
    ],
)
def test_annex_losses(golden, planned, loss, value, clipped, lower):
    output = loss(planned(loss, golden))
    # The annex was made in single precision.
    assert output.loss.item() == pytest.approx(value, rel=1e-4 if value < 1e-3 else 1e-6)
    assert output.metrics["clip_fraction"].value == pytest.approx(clipped, rel=1e-5)
    assert output.metrics["clip_fraction_lower"].value == pytest.approx(lower, rel=1e-5)
    assert output.metrics["approx_kl"].value == pytest.approx(-0.011231, abs=1e-6)


def test_sequence_mask_rejects_one_row_and_shows_both_drifts(golden, planned):
    loss = bare(surrogate=GRPO_CLIP, masking=SequenceMask(threshold=3e-3))
    metrics = loss(planned(loss, golden)).metrics
    # Row 1 (A < 0, mean log-ratio -1/3) goes: one row of four. Row 2 (A < 0) has grown, it stays.
    assert metrics["masked_turn_fraction"].value == 0.25
    assert metrics["approx_kl_kept"].value == pytest.approx(-0.114600, abs=1e-6)


def test_annex_gradient_of_grpo(golden, planned):
    (gradient,) = torch.autograd.grad(GRPO_TOKEN(planned(GRPO_TOKEN, golden)).loss, golden.logprobs)
    expected = [
        [0, -0.083523, -0.097040, -0.061876],
        [0, 0, 0.068011, 0],
        [0, 0.094469, 0, 0],
        [-0.038539, -0.038308, -0.0385, -0.038346],
    ]
    for row, wanted in zip(gradient.tolist(), expected, strict=True):
        assert row == pytest.approx(wanted, abs=1e-6)


def test_annex_gradient_of_gspo(golden, planned):
    (gradient,) = torch.autograd.grad(GSPO(planned(GSPO, golden)).loss, golden.logprobs)
    expected = [[-0.072240] * 4, [0.0] * 4, [0.359164, 0.359164, 0, 0], [-0.031219] * 4]
    for row, wanted in zip(gradient.tolist(), expected, strict=True):
        assert row == pytest.approx(wanted, abs=1e-6)


def test_sampo_by_hand():
    """One turn of two tokens, log-ratios 0.01 and 0.03, advantage 2; reference 0.1 above.

    Geometric mean exp(0.02) = 1.02020; above 1.004, so the surrogate is -2 * 1.004 without
    gradient. k3 with d = 0.1 and 0.1: e^0.1 - 1.1 = 0.00517092. Loss -2.008 + 0.01 * 0.00517092.
    """
    loss = PolicyLoss()
    mask = torch.ones(1, 2, dtype=torch.bool)
    logprobs = torch.tensor([[-0.99, -0.97]], dtype=torch.float64, requires_grad=True)
    inputs = LossInputs(
        logprobs=logprobs,
        old_logprobs=torch.full((1, 2), -1.0, dtype=torch.float64),
        advantages=torch.full((1, 2), 2.0, dtype=torch.float64),
        action_mask=mask,
        turn_ids=torch.zeros(1, 2, dtype=torch.int64),
        episode_ids=torch.zeros(1, 2, dtype=torch.int64),
        weights=torch.full((1, 2), 0.5, dtype=torch.float64),
        ref_logprobs=logprobs.detach() + 0.1,
    )
    output = loss(inputs)
    assert output.loss.item() == pytest.approx(-2.008 + 5.17092e-5, abs=1e-9)
    assert output.metrics["clip_fraction"].value == 1.0
    assert output.metrics["approx_kl"].value == pytest.approx(-0.02)
    assert output.metrics["ratio_max"].value == pytest.approx(1.0202013)
    assert output.metrics["ref_kl"].value == pytest.approx(0.00517092, rel=1e-5)
    # What is left is the KL's pull towards the reference: 0.01 * 0.5 * (1 - e^0.1).
    (gradient,) = torch.autograd.grad(output.loss, logprobs)
    assert gradient[0].tolist() == pytest.approx([-0.005 * 0.1051709] * 2, rel=1e-5)


def test_entropy_bonus_raises_entropy(random_inputs, planned):
    loss = bare(entropy_coef=0.5)
    inputs = planned(loss, random_inputs(0))
    (gradient,) = torch.autograd.grad(loss(inputs).loss, inputs.entropy)
    assert torch.allclose(gradient, -0.5 * inputs.weights.to(torch.float64))


def test_mismatch_with_the_engine(random_inputs, planned):
    inputs = planned(GRPO_TOKEN, random_inputs(0))
    sampled = inputs.old_logprobs.clone()
    row, column = inputs.action_mask.nonzero()[0].tolist()
    sampled[row, column] += 0.25
    metrics = GRPO_TOKEN(replace(inputs, sampling_logprobs=sampled)).metrics
    # One token off by 0.25 (engine above): k3 = e^-0.25 + 0.25 - 1 = 0.0288008.
    count = int(inputs.action_mask.sum())
    assert metrics["sampling_logprob_diff_max"].value == pytest.approx(0.25)
    assert metrics["sampling_kl"].value == pytest.approx(0.0288008 / count, rel=1e-5)


def test_half_precision_is_widened():
    """Log-ratio 2^-9 at log-probability -1: bfloat16 steps are 2^-8 there, and its exp is 1."""
    row = torch.ones(1, 1, dtype=torch.int64)
    inputs = LossInputs(
        logprobs=torch.full((1, 1), -1.0, dtype=torch.bfloat16),
        old_logprobs=torch.full((1, 1), -1.0 - 2**-9),
        advantages=torch.ones(1, 1),
        action_mask=row.bool(),
        turn_ids=row,
        episode_ids=row,
        weights=torch.ones(1, 1),
    )
    loss = GRPO_TOKEN(inputs).loss
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(-(1 + 2**-9 + 2**-19), rel=1e-6)


def test_an_empty_micro_batch_contributes_nothing(random_inputs, planned):
    inputs = planned(PolicyLoss(), random_inputs(0))
    nothing = replace(inputs, action_mask=torch.zeros_like(inputs.action_mask))
    output = PolicyLoss()(nothing)
    output.loss.backward()
    assert output.loss.item() == 0.0
    assert output.metrics["approx_kl"].value == 0.0


def test_what_must_stay_together():
    assert PolicyLoss().keep_together == "turn"
    assert GRPO_TOKEN.keep_together == "token"
    assert PolicyLoss(ratio=Ratio(level="episode")).keep_together == "episode"
    spread = replace(GRPO_TOKEN, aggregation=Aggregation(level="episode"))
    assert spread.keep_together == "token"
    assert spread.keep_together_in_mini_batch == "episode"


def test_missing_inputs_and_wrong_settings_say_what_to_do(random_inputs, planned):
    inputs = replace(planned(PolicyLoss(), random_inputs(0)), ref_logprobs=None, entropy=None)
    with pytest.raises(ConfigError, match="configure a reference"):
        PolicyLoss()(inputs)
    with pytest.raises(ConfigError, match="entropy_coef"):
        bare(entropy_coef=0.1)(inputs)
    with pytest.raises(ConfigError, match="must be 0 or more"):
        PolicyLoss(kl_coef=-1.0)
    with pytest.raises(ConfigError, match=r"set loss\.ratio\.level to turn"):
        bare(surrogate=GeometricMean())
    with pytest.raises(ConfigError, match="entropy_zscores"):
        bare(surrogate=EntropyBalanced())(replace(inputs, entropy_zscores=None))
