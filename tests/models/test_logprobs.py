"""token_scores against the plain log-softmax, and against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from sampo.models.logprobs import token_scores


def plain_scores(hidden: Tensor, weight: Tensor, targets: Tensor, temperature: float = 1.0):
    logp = torch.log_softmax((hidden @ weight.t()) / temperature, dim=-1)
    return logp.gather(-1, targets[:, None]).squeeze(-1), -(logp.exp() * logp).sum(-1)


def example(tokens: int, width: int, vocab: int, dtype: torch.dtype = torch.float64):
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(tokens, width, dtype=dtype, generator=generator).requires_grad_()
    weight = torch.randn(vocab, width, dtype=dtype, generator=generator).requires_grad_()
    return hidden, weight, torch.randint(vocab, (tokens,), generator=generator)


def test_two_tokens_by_hand():
    """Logits (ln 3, 0): p = (3/4, 1/4), H = ln 4 - 3/4 ln 3."""
    hidden = torch.tensor([[math.log(3.0)]], dtype=torch.float64)
    weight = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
    scores = token_scores(hidden, weight, torch.tensor([1]))
    assert scores.entropy is not None
    assert scores.logprobs.item() == pytest.approx(math.log(1 / 4))
    assert scores.entropy.item() == pytest.approx(math.log(4) - 0.75 * math.log(3))
    # At temperature 1/2 the logits are (ln 9, 0): p = (9/10, 1/10).
    tempered = token_scores(hidden, weight, torch.tensor([1]), temperature=0.5)
    assert tempered.logprobs.item() == pytest.approx(math.log(1 / 10))


def test_entropy_gradient_by_hand():
    """Logits (z, 0) with p = (3/4, 1/4): dH/dz = -p_0 (log p_0 + H) = -3/16 ln 3."""
    hidden = torch.tensor([[math.log(3.0)]], dtype=torch.float64, requires_grad=True)
    weight = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
    entropy = token_scores(hidden, weight, torch.tensor([0])).entropy
    assert entropy is not None
    entropy.sum().backward()
    assert hidden.grad is not None
    assert hidden.grad.item() == pytest.approx(-3 / 16 * math.log(3))


@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("chunk_size", [1, 3, 7, 100])
def test_equals_the_plain_log_softmax(temperature: float, chunk_size: int):
    hidden, weight, targets = example(7, 5, 11)
    ours = token_scores(hidden, weight, targets, temperature=temperature, chunk_size=chunk_size)
    theirs = plain_scores(hidden, weight, targets, temperature)
    for mine, plain in zip(ours[:2], theirs[:2], strict=True):
        assert mine is not None and plain is not None
        torch.testing.assert_close(mine, plain, rtol=0, atol=1e-14)
        grads = torch.autograd.grad(mine.sum(), (hidden, weight), retain_graph=True)
        plain_grads = torch.autograd.grad(plain.sum(), (hidden, weight), retain_graph=True)
        torch.testing.assert_close(grads, plain_grads, rtol=0, atol=1e-13)


@pytest.mark.parametrize("temperature", [1.0, 1.6])
def test_gradcheck_through_both_outputs(temperature: float):
    hidden, weight, targets = example(5, 3, 6)

    def both(hidden: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        scores = token_scores(hidden, weight, targets, temperature=temperature, chunk_size=2)
        assert scores.entropy is not None
        return scores.logprobs, scores.entropy

    assert torch.autograd.gradcheck(both, (hidden, weight))


def test_only_what_needs_a_gradient_gets_one():
    hidden, weight, targets = example(4, 3, 6)
    token_scores(hidden.detach(), weight, targets).logprobs.sum().backward()
    assert hidden.grad is None and weight.grad is not None


def test_without_entropy():
    hidden, weight, targets = example(4, 3, 6)
    scores = token_scores(hidden, weight, targets, with_entropy=False)
    assert scores.entropy is None
    scores.logprobs.sum().backward()
    theirs = plain_scores(hidden, weight, targets)[0]
    torch.testing.assert_close(scores.logprobs, theirs)


def test_bf16_inputs_are_reduced_in_fp32():
    """Equal to fp32 arithmetic on the rounded logits; a bf16 log-softmax is off by about 1e-2."""
    hidden, weight, targets = example(6, 16, 500, torch.bfloat16)
    scores = token_scores(hidden, weight, targets, chunk_size=4)
    assert scores.entropy is not None
    assert scores.logprobs.dtype == torch.float32
    logp = torch.log_softmax((hidden @ weight.t()).float(), dim=-1)
    chosen = logp.gather(-1, targets[:, None]).squeeze(-1)
    torch.testing.assert_close(scores.logprobs, chosen, rtol=0, atol=2e-6)
    (scores.logprobs.sum() + scores.entropy.sum()).backward()
    assert hidden.grad is not None and weight.grad is not None
    assert hidden.grad.dtype == weight.grad.dtype == torch.bfloat16
    logprobs, entropy = plain_scores(hidden.double(), weight.double(), targets)
    plain_grad = torch.autograd.grad(logprobs.sum() + entropy.sum(), weight)[0]
    torch.testing.assert_close(weight.grad.float(), plain_grad.float(), rtol=0.03, atol=0.02)


def test_autocast_changes_nothing():
    """The backward pass runs outside autocast; logits made twice must be the same twice."""
    hidden, weight, targets = example(6, 16, 50, torch.float32)
    expected = token_scores(hidden, weight, targets).logprobs
    with torch.autocast("cpu", dtype=torch.bfloat16):
        under = token_scores(hidden, weight, targets).logprobs
    assert torch.equal(expected, under)


def test_extreme_logits_stay_finite():
    hidden = torch.tensor([[1e4], [-1e4]], requires_grad=True)
    weight = torch.tensor([[1.0], [0.0], [-1.0]], requires_grad=True)
    scores = token_scores(hidden, weight, torch.tensor([0, 0]))
    assert scores.entropy is not None
    assert scores.logprobs.tolist() == [0.0, -2e4]
    assert scores.entropy.tolist() == [0.0, 0.0]
    (scores.logprobs.sum() + scores.entropy.sum()).backward()
    assert hidden.grad is not None and hidden.grad.isfinite().all()


def test_no_tokens_at_all_still_has_a_graph():
    """A micro-batch without action tokens must not break the ranks' common backward pass."""
    hidden, weight, targets = example(0, 3, 6)
    scores = token_scores(hidden, weight, targets)
    assert scores.logprobs.shape == (0,)
    scores.logprobs.sum().backward()
    assert weight.grad is not None and not weight.grad.any()


def test_refuses_temperature_zero():
    hidden, weight, targets = example(1, 3, 6)
    with pytest.raises(ValueError, match="temperature"):
        token_scores(hidden, weight, targets, temperature=0.0)
