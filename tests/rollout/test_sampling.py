"""One uniform number decides one token; the numbers are worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from sampo.rollout.engine import SamplingParams
from sampo.rollout.sampling import sample_tokens, uniform_draws

# Token 2 is the likeliest, then 0, then 3, then 1.
PROBS = (0.3, 0.05, 0.5, 0.15)
LOGITS = torch.tensor([PROBS]).log()


def draw(uniform: float, **params) -> tuple[int, float]:
    tokens, logprobs = sample_tokens(LOGITS, [SamplingParams(**params)], [uniform])
    return tokens[0], math.exp(logprobs[0])


@pytest.mark.parametrize(
    ("uniform", "token"),
    [(0.0, 0), (0.29, 0), (0.31, 1), (0.34, 1), (0.36, 2), (0.84, 2), (0.86, 3), (1 - 1e-16, 3)],
)
def test_inverse_of_the_distribution_function(uniform: float, token: int):
    """The running sums are 0.30, 0.35, 0.85, 1."""
    found, probability = draw(uniform)
    assert found == token
    assert probability == pytest.approx(PROBS[token])


def test_top_k_two_of_four():
    """0.3 and 0.5 are left: 3/8 and 5/8."""
    assert draw(0.37, top_k=2) == (0, pytest.approx(3 / 8))
    assert draw(0.38, top_k=2) == (2, pytest.approx(5 / 8))


@pytest.mark.parametrize(
    ("top_p", "tokens"), [(0.4, [2]), (0.6, [0, 2]), (0.81, [0, 2, 3]), (1.0, [0, 1, 2, 3])]
)
def test_top_p_is_the_smallest_sufficient_set(top_p: float, tokens: list[int]):
    found = {draw(u / 200 + 1 / 400, top_p=top_p) for u in range(200)}
    kept = sum(PROBS[token] for token in tokens)
    assert sorted(token for token, _ in found) == tokens
    for token, probability in found:
        assert probability == pytest.approx(PROBS[token] / kept)


def test_top_p_is_taken_of_what_top_k_leaves():
    """Of 0.5, 0.3, 0.15 the first holds 0.526: enough for 0.52, though not of the whole."""
    assert draw(0.9, top_k=3, top_p=0.52) == (2, pytest.approx(1.0))


def test_temperature_one_half_squares():
    """Squares: 0.09, 0.0025, 0.25, 0.0225, together 0.365."""
    assert draw(0.5, temperature=0.5) == (2, pytest.approx(0.25 / 0.365))


def test_temperature_zero_has_no_doubt():
    assert draw(0.01, temperature=0.0) == (2, 1.0)
    assert draw(0.99, temperature=0.0, top_p=0.1, top_k=1) == (2, 1.0)


def test_rows_keep_their_own_settings():
    params = [SamplingParams(), SamplingParams(temperature=0.0), SamplingParams(top_k=2)]
    tokens, logprobs = sample_tokens(LOGITS.expand(3, -1), params, [0.32, 0.32, 0.32])
    assert tokens == [1, 2, 0]
    assert [math.exp(x) for x in logprobs] == pytest.approx([0.05, 1.0, 3 / 8])


def test_equal_logits_keep_exactly_top_k():
    logits = torch.zeros(1, 6)
    params = [SamplingParams(top_k=2)]
    seen = {sample_tokens(logits, params, [u / 20])[0][0] for u in range(20)}
    assert seen == {0, 1}


def test_tokens_without_probability_are_never_drawn():
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf]])
    for uniform in (0.0, 0.5, 1 - 2**-53):
        tokens, logprobs = sample_tokens(logits, [SamplingParams()], [uniform])
        assert tokens[0] in (1, 3)
        assert logprobs[0] == pytest.approx(math.log(0.5))


def test_draws_depend_on_all_bits_of_the_seed():
    assert uniform_draws(5, 3) == uniform_draws(5, 4)[:3]
    assert uniform_draws(5, 3) != uniform_draws(5 + 2**32, 3)
    assert uniform_draws(-1, 2) == uniform_draws(2**64 - 1, 2)
    assert all(0 <= u < 1 for u in uniform_draws(0, 100))
