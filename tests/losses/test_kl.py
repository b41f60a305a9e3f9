"""KL estimators, and that following their gradient lowers the KL."""

import math

import pytest
import torch
from torch import Tensor

from sampo.errors import ConfigError
from sampo.losses import AdaptiveKL, KLPenalty, kl_estimate

# Annex A: reference minus rollout log-probability, rollout and current from conftest.
REF = [[0.1, -0.2, 0.3, -0.4], [0.05, 0, -1, 0], [2, -2, 0, 0], [0, 0, 0, 0.7]]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("k1", 0.04584612), ("abs", 0.44692308), ("k2", 0.22958574), ("k3", 0.17897463)],
)
def test_annex_values(golden, kind, expected):
    reference = golden.old_logprobs + torch.tensor(REF, dtype=torch.float64)
    values = kl_estimate(golden.logprobs, reference, kind)[golden.action_mask]
    assert values.mean().item() == pytest.approx(expected, rel=1e-6)


def test_annex_gradient_of_k3(golden):
    reference = golden.old_logprobs + torch.tensor(REF, dtype=torch.float64)
    value = kl_estimate(golden.logprobs, reference, "k3")[golden.action_mask].mean()
    (gradient,) = torch.autograd.grad(value, golden.logprobs)
    assert gradient[0].tolist() == pytest.approx([0.013944, 0.007320, -0.021848, 0], abs=1e-6)


def test_k3_is_bounded_and_flat_beyond():
    logprobs = torch.tensor([-500.0, -0.1], requires_grad=True)
    value = kl_estimate(logprobs, torch.tensor([-0.1, -500.0]), "k3")
    (gradient,) = torch.autograd.grad(value.sum(), logprobs)
    assert value.tolist() == [10.0, 10.0]
    assert gradient.tolist() == [0.0, 0.0]


def test_k2_gradient_keeps_the_value_of_the_kind():
    logprobs = torch.tensor([-1.0], requires_grad=True)
    reference = torch.tensor([-1.5])
    value = KLPenalty(kind="k3", gradient="k2")(logprobs, reference, torch.zeros(1))
    # d = -0.5: value e^-0.5 + 0.5 - 1; gradient of k2 is -d = 0.5.
    assert value.item() == pytest.approx(0.1065307, rel=1e-5)
    value.sum().backward()
    assert logprobs.grad is not None
    assert logprobs.grad.tolist() == [0.5]


REFERENCE_LOGITS = torch.tensor([0.5, -1.0, 0.2, 0.0], dtype=torch.float64)
ROLLOUT_LOGITS = torch.tensor([1.5, 0.3, -1.0, 0.1], dtype=torch.float64)
CURRENT_LOGITS = torch.tensor([1.0, 0.8, -0.6, -0.4], dtype=torch.float64)


def true_kl(logits: Tensor) -> Tensor:
    current = logits.log_softmax(0)
    return (current.exp() * (current - REFERENCE_LOGITS.log_softmax(0))).sum()


def expected_gradient(penalty: KLPenalty, current: Tensor, rollout: Tensor) -> Tensor:
    """Exact expectation over the four outcomes of the rollout policy of the penalty's gradient."""
    logits = current.clone().requires_grad_()
    logprobs = logits.log_softmax(0)
    old = rollout.log_softmax(0)
    term = penalty(logprobs, REFERENCE_LOGITS.log_softmax(0), logprobs - old)
    (gradient,) = torch.autograd.grad((old.exp() * term).sum(), logits)
    return gradient


@pytest.mark.parametrize(
    ("penalty", "on_policy", "off_policy"),
    [
        (KLPenalty(kind="k2"), True, False),
        (KLPenalty(kind="k3", gradient="k2"), True, False),
        (KLPenalty(kind="k1", gradient="importance_weighted"), True, True),
        (KLPenalty(kind="k3", gradient="importance_weighted"), True, True),
        (KLPenalty(kind="k3"), False, False),
        (KLPenalty(kind="k1"), False, False),
    ],
)
def test_whose_expected_gradient_is_that_of_the_kl(penalty, on_policy, off_policy):
    logits = CURRENT_LOGITS.clone().requires_grad_()
    (true_gradient,) = torch.autograd.grad(true_kl(logits), logits)
    on = expected_gradient(penalty, CURRENT_LOGITS, CURRENT_LOGITS)
    off = expected_gradient(penalty, CURRENT_LOGITS, ROLLOUT_LOGITS)
    assert torch.allclose(on, true_gradient) is on_policy
    assert torch.allclose(off, true_gradient) is off_policy


@pytest.mark.parametrize(
    "penalty",
    [
        KLPenalty(),
        KLPenalty(kind="k2"),
        KLPenalty(gradient="k2"),
        KLPenalty(gradient="importance_weighted"),
        KLPenalty(kind="k1", gradient="importance_weighted"),
    ],
)
def test_one_step_of_the_penalty_alone_lowers_the_kl(penalty):
    gradient = expected_gradient(penalty, CURRENT_LOGITS, CURRENT_LOGITS)
    after = CURRENT_LOGITS - 0.1 * gradient
    assert true_kl(after) < true_kl(CURRENT_LOGITS) - 1e-3


def test_k1_as_a_loss_has_no_expected_gradient():
    gradient = expected_gradient(KLPenalty(kind="k1"), CURRENT_LOGITS, CURRENT_LOGITS)
    assert torch.allclose(gradient, torch.zeros(4, dtype=torch.float64), atol=1e-12)


def test_an_update_without_a_finite_kl_leaves_the_coefficient():
    assert AdaptiveKL(target=0.01)(0.01, math.nan, 100) == 0.01
    with pytest.raises(ConfigError, match="target=nan"):
        AdaptiveKL(target=math.nan)


def test_adaptive_coefficient_steers_to_the_target():
    steer = AdaptiveKL(target=0.1, horizon=1000)
    # 5 % too much, over half a horizon: 1 + 0.05 * 0.5.
    assert steer(0.01, 0.105, 500) == pytest.approx(0.01025)
    # Far too much or too little: at most 20 %, and no more for more tokens than the horizon.
    assert steer(0.01, 10.0, 5000) == pytest.approx(0.012)
    assert steer(0.01, 0.0, 5000) == pytest.approx(0.008)


def test_wrong_settings_say_what_to_do():
    with pytest.raises(ConfigError, match="Did you mean 'k3'"):
        KLPenalty(kind="k33")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="one of"):
        KLPenalty(gradient="k5")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="only for kind k1 or k3"):
        KLPenalty(kind="abs", gradient="importance_weighted")
    with pytest.raises(ConfigError, match="must be above 0"):
        AdaptiveKL(target=0.0)
