"""Surrogates by hand, and Annex A of the specification."""

import math
from dataclasses import replace

import pytest
import torch

from sampo.errors import ConfigError
from sampo.losses import (
    Aggregation,
    Clip,
    DetachedClip,
    EntropyBalanced,
    EntropyMoments,
    GeometricMean,
    PolicyLoss,
    Ratio,
    SequenceMask,
    SoftGate,
    Surrogate,
    SurrogateInputs,
)

ENTROPY = [[0.5, 0.2, 1, 0.1], [0.9, 0.4, 0.3, 0], [0.05, 1.4, 0, 0], [0.6, 0.6, 0.2, 0.8]]


def run(surrogate: Surrogate, batch, log_ratios, advantages, level="token", zscores=None):
    """Return the loss, its gradient by log-ratio, and what was clipped, for one row."""
    log_ratio = torch.tensor([log_ratios], dtype=torch.float64, requires_grad=True)
    output = surrogate(
        SurrogateInputs(
            logprobs=log_ratio - 1.0,
            log_ratio=log_ratio,
            ratio=Ratio(level=level),
            advantages=torch.tensor([advantages], dtype=torch.float64),
            batch=batch,
            entropy_zscores=None if zscores is None else torch.tensor([zscores]),
        )
    )
    (gradient,) = torch.autograd.grad(output.loss.sum(), log_ratio)
    return output.loss[0].tolist(), gradient[0].tolist(), output


UP, DOWN = math.log(1.5), math.log(0.5)


def test_clip_stops_only_what_goes_too_far_already(batch_of):
    """Ratios 1.5, 0.5, 1.5, 0.5 with advantages 2, 2, -2, -2."""
    loss, gradient, output = run(
        Clip(clip_low=0.2, clip_high=0.2),
        batch_of([[0, 0, 0, 0]]),
        [UP, DOWN, UP, DOWN],
        [2.0, 2.0, -2.0, -2.0],
    )
    assert loss == pytest.approx([-2.4, -1.0, 3.0, 1.6])
    assert gradient == pytest.approx([0.0, -1.0, 3.0, 0.0])
    assert output.clipped[0].tolist() == [True, False, False, True]


def test_dual_clip_bounds_bad_tokens_that_became_likely(batch_of):
    # Ratio 5: -A r = 10, bounded by -A * 3 = 6, without gradient; a good token keeps its clip.
    loss, gradient, output = run(
        Clip(dual_clip=3.0), batch_of([[0, 0]]), [math.log(5.0)] * 2, [-2.0, 2.0]
    )
    assert loss == pytest.approx([6.0, -2.4])
    assert gradient == [0.0, 0.0]
    assert output.clipped_lower[0].tolist() == [True, False]


def test_soft_gate_of_good_and_bad_sequences(batch_of):
    """tau = 2 for the good turn 0, 4 for the bad turn 1, whose first token is good itself."""
    loss, gradient, _ = run(
        SoftGate(tau_positive=2.0, tau_negative=4.0),
        batch_of([[0, 1, 1]]),
        [UP, DOWN, 0.0],
        [1.0, 1.0, -3.0],
    )

    def gate(tau: float, ratio: float) -> float:
        return 4 / tau / (1 + math.exp(-tau * (ratio - 1)))

    assert loss == pytest.approx([-gate(2, 1.5), -gate(4, 0.5), 3 * 0.5])
    # p = 1 / (1 + e^-1): gradient -4 p (1 - p) r = -0.786448 * 1.5; at ratio 1 it is -A.
    assert gradient[0] == pytest.approx(-0.786448 * 1.5, rel=1e-5)
    assert gradient[2] == pytest.approx(3.0)


def test_detached_clip_leaves_every_token_a_gradient(batch_of):
    loss, gradient, output = run(
        DetachedClip(clip_low=0.3, clip_high=0.2), batch_of([[0, 0]]), [UP, DOWN], [2.0, -1.0]
    )
    # Weights 1.2 and 0.7; log pi = log-ratio - 1 here.
    assert loss == pytest.approx([-1.2 * 2 * (UP - 1), 0.7 * (DOWN - 1)])
    assert gradient == pytest.approx([-2.4, 0.7])
    assert output.clipped.all()


def test_geometric_mean_clips_tokens_before_the_mean(batch_of):
    """Good turn, log-ratios 1.0, -1.0, 0.1 with bounds 0.4: held 0.4, -1.0, 0.1; mean -1/6."""
    loss, gradient, output = run(
        GeometricMean(), batch_of([[0, 0, 0]]), [1.0, -1.0, 0.1], [2.0] * 3, level="turn"
    )
    ratio = math.exp(-1 / 6)
    assert loss == pytest.approx([-2 * ratio] * 3)
    assert gradient == pytest.approx([0.0, -2 * ratio, -2 * ratio])
    assert output.clipped[0].tolist() == [True, True, False]


def test_entropy_balanced_keeps_the_gradient_of_one_half(batch_of):
    """Two good tokens at ratio 1.5, z = 1 and z = -1; advantage 1 (1 + 0.2 z)."""
    batch = batch_of([[0, 0]])
    inputs = ([UP, UP], [1.0, 1.0], "token", [1.0, -1.0])
    loss, gradient, _ = run(EntropyBalanced(), batch, *inputs)
    assert loss == pytest.approx([-1.2 * 1.2, -1.2 * 0.8])
    assert gradient == pytest.approx([0.0, -1.2 * 0.8])
    _, gradient, _ = run(EntropyBalanced(gradient_above="high_entropy"), batch, *inputs)
    assert gradient == pytest.approx([-1.2 * 1.2, 0.0])


def test_entropy_moments_add_up():
    entropy = torch.tensor([[1.0, 2.0, 9.0], [3.0, 6.0, 9.0]], dtype=torch.float64)
    mask = torch.tensor([[True, True, False], [True, True, False]])
    parts = EntropyMoments.of(entropy[:1], mask[:1]) + EntropyMoments.of(entropy[1:], mask[1:])
    # 1, 2, 3, 6: mean 3, squares 4 + 1 + 0 + 9 over 3.
    std = math.sqrt(14 / 3)
    assert parts.zscores(entropy, mask)[0].tolist() == pytest.approx([-2 / std, -1 / std, 0.0])
    alone = EntropyMoments.of(entropy[:, :1], mask[:, :1] & False)
    assert alone.zscores(entropy[:, :1], mask[:, :1] & False).tolist() == [[0.0], [0.0]]


ANNEX = [
    (SoftGate(), None, 0.50405413),
    (SoftGate(), 3e-3, 0.22865446),
    (DetachedClip(clip_low=1.0, clip_high=0.2), None, -0.04014297),
    (DetachedClip(clip_low=1.0, clip_high=0.2), 3e-3, 0.11862999),
]


@pytest.mark.parametrize(("surrogate", "threshold", "value"), ANNEX)
def test_annex_losses(golden, planned, surrogate, threshold, value):
    masking = None if threshold is None else SequenceMask(threshold=threshold)
    loss = PolicyLoss(ratio=Ratio(level="token"), surrogate=surrogate, masking=masking, kl_coef=0.0)
    assert loss(planned(loss, golden)).loss.item() == pytest.approx(value, rel=1e-5)


def test_annex_entropy_balanced(golden, planned):
    loss = PolicyLoss(
        ratio=Ratio(level="token"),
        surrogate=EntropyBalanced(),
        aggregation=Aggregation(kind="token_mean"),
        kl_coef=0.0,
    )
    entropy = torch.tensor(ENTROPY, dtype=torch.float64)
    moments = EntropyMoments.of(entropy, golden.action_mask)
    inputs = replace(golden, entropy_zscores=moments.zscores(entropy, golden.action_mask))
    output = loss(planned(loss, inputs)).loss
    assert output.item() == pytest.approx(0.05988935, rel=1e-6)
    (gradient,) = torch.autograd.grad(output, inputs.logprobs)
    assert gradient[0].tolist() == pytest.approx(
        [-0.108413, -0.069150, -0.119369, -0.048117], abs=1e-6
    )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Clip(clip_low=1.5),
        lambda: Clip(clip_high=-0.1),
        lambda: Clip(dual_clip=0.9),
        lambda: SoftGate(tau_negative=0.0),
        lambda: DetachedClip(clip_low=2.0),
        lambda: GeometricMean(clip_low=-1.0),
        lambda: EntropyBalanced(gradient_above="all"),
    ],
)
def test_wrong_settings_say_what_to_do(wrong):
    with pytest.raises(ConfigError, match=r"set|must"):
        wrong()
