"""Logits into sampled tokens and the log-probabilities of what they were sampled from.

Sampling is by inverse distribution function: one uniform number decides one token. So a reply is a
function of its own numbers, whatever else is in the batch, up to float rounding of the logits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from sampo.rollout.engine import SamplingParams

_CHUNK_ELEMENTS = 2**22
"""Most float64 probabilities held at once: 32 MiB."""


def uniform_draws(seed: int, count: int) -> list[float]:
    """Return `count` uniform numbers in [0, 1), a function of the seed.

    numpy's seeding mixes all bits of the seed; torch's CPU generator looks at 32 of them only.
    """
    return np.random.default_rng(seed % 2**64).random(count).tolist()


def sample_tokens(
    logits: Tensor, params: Sequence[SamplingParams], draws: Sequence[float]
) -> tuple[list[int], list[float]]:
    """Sample one token per row.

    The distribution is `softmax(logits / temperature)`, cut to the `top_k` likeliest tokens, then
    to the smallest set of likeliest tokens that holds `top_p` of what is left, and renormalised.
    Log-probabilities are those of that distribution; at temperature 0 it is a point on the
    likeliest token, whose log-probability is 0.

    Args:
        logits: `[B, V]`, any float dtype.
        params: one per row.
        draws: one uniform number in [0, 1) per row.

    Returns:
        Token ids and natural-log probabilities, one each per row.

    Example:
        >>> logits = torch.tensor([[0.75, 0.25]]).log()  # draws up to 0.75 mean token 0
        >>> [sample_tokens(logits, [SamplingParams()], [u])[0] for u in (0.7, 0.8)]
        [[0], [1]]
    """
    tokens: list[int] = []
    logprobs: list[float] = []
    step = max(_CHUNK_ELEMENTS // logits.shape[1], 1)
    for start in range(0, len(params), step):
        rows = slice(start, start + step)
        uniform = torch.tensor(draws[rows], dtype=torch.float64, device=logits.device)
        picked, scores = _sample_chunk(logits[rows].float(), params[rows], uniform)
        tokens += picked.tolist()
        logprobs += scores.tolist()
    return tokens, logprobs


def _sample_chunk(
    logits: Tensor, params: Sequence[SamplingParams], draws: Tensor
) -> tuple[Tensor, Tensor]:
    """Sample from fp32 logits `[B, V]` with float64 draws `[B]`; return ids and log-probs."""
    temperatures = logits.new_tensor([p.temperature for p in params])
    if any(p.temperature != 1.0 for p in params):
        logits = logits / torch.where(temperatures > 0, temperatures, 1.0)[:, None]
    if any(p.top_k > 0 or p.top_p < 1.0 for p in params):
        logits = logits.masked_fill(~_kept(logits, params), -torch.inf)
    # In float64 the sums over a large vocabulary leave no token out.
    probs = logits.double().softmax(dim=-1)
    cumulative = probs.cumsum(dim=-1)
    # Below the total, so that the token found always has a positive share of it.
    points = (draws * cumulative[:, -1]).minimum(cumulative[:, -1] * (1 - 2.0**-40))
    tokens = torch.searchsorted(cumulative, points[:, None], right=True).squeeze(-1)
    logprobs = probs.gather(-1, tokens[:, None]).squeeze(-1).log()
    greedy = temperatures == 0
    tokens = torch.where(greedy, logits.argmax(dim=-1), tokens)
    return tokens, logprobs.masked_fill(greedy, 0.0)


def _kept(logits: Tensor, params: Sequence[SamplingParams]) -> Tensor:
    """Return bool `[B, V]`: the tokens that top-k, then top-p, leave in."""
    vocabulary = logits.shape[1]
    ordered, order = logits.sort(dim=-1, descending=True, stable=True)
    top_k = torch.tensor([p.top_k or vocabulary for p in params], device=logits.device)
    top_p = torch.tensor([p.top_p for p in params], dtype=torch.float64, device=logits.device)
    ranks = torch.arange(vocabulary, device=logits.device)
    within = ranks < top_k[:, None]
    probs = ordered.double().masked_fill(~within, -torch.inf).softmax(dim=-1)
    before = probs.cumsum(dim=-1) - probs
    # A top_p of 1 cuts nothing: the running sum may reach 1 by rounding before the last token.
    within &= (before < top_p[:, None]) | (top_p[:, None] >= 1.0)
    within[:, 0] = True
    return torch.zeros_like(within).scatter(-1, order, within)
