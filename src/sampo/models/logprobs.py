"""Log-probabilities and entropies of single tokens, without ever holding all logits.

The last hidden states go in, one number per token comes out. The logits of a chunk of tokens are
made, reduced and thrown away; the backward pass makes them again. So the memory is that of one
chunk (tens of megabytes) where the plain log-softmax needs several `[N, V]` tensors, and on a CPU
it is faster too, because the chunk stays near the caches.

This file knows tensors only. `models.policy` calls it with a model's hidden states and head.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

_CHUNK_ELEMENTS = 2**22
_CHUNK_TOKENS = 256
"""A chunk has at least this many tokens, and up to 16 MiB of fp32 logits (two such buffers are
held). Smaller chunks were measured slower for large vocabularies, larger ones for small."""


class TokenScores(NamedTuple):
    """What the policy says about given tokens.

    A named tuple, not a dataclass, so that the hooks of sharded modules find the tensors.
    """

    logprobs: Tensor
    """float32 (float64 for float64 inputs): natural-log probability of each token."""
    entropy: Tensor | None
    """Like `logprobs`: entropy in nats of the distribution the token was drawn from. None where
    it was not asked for."""
    values: Tensor | None = None
    """Like `logprobs`: the value head's prediction before each token. None: there is no head."""


def token_scores(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    *,
    temperature: float = 1.0,
    chunk_size: int | None = None,
    with_entropy: bool = True,
) -> TokenScores:
    r"""Return log-probability and entropy of `targets` under `softmax(hidden @ weight.T / T)`.

    With logits `z`, `p = softmax(z / T)` and `H = -sum_j p_j log p_j`, the gradients are

        d log p_t / d z_j = (1[j = t] - p_j) / T
        d H / d z_j       = -p_j (log p_j + H) / T

    Logits are multiplied out in the head's dtype and reduced in fp32 (fp64 for fp64 inputs), also
    under autocast, so that a bf16 run loses no more than the head's own rounding.

    Args:
        hidden: `[N, H]`, the last hidden state *before* each target.
        weight: `[V, H]`, the language-model head (no bias).
        targets: int64 `[N]`, token ids.
        temperature: `T > 0`; log-probabilities are those of the tempered distribution.
        chunk_size: tokens whose logits are held at once; None: 16 MiB of them, at least 256.
        with_entropy: whether to compute the entropy too.

    Returns:
        Both `[N]` and differentiable once, in `hidden` and in `weight`.

    Example:
        >>> scores = token_scores(torch.zeros(1, 2), torch.ones(4, 2), torch.tensor([3]))
        >>> [round(x.exp().item(), 6) for x in scores[:2]]  # uniform over 4: p = 1/4, exp(H) = 4
        [0.25, 4.0]
    """
    if temperature <= 0:
        raise ValueError(f"temperature must be above 0, got {temperature}.")
    chunk = chunk_size or max(_CHUNK_ELEMENTS // weight.shape[0], _CHUNK_TOKENS)
    function: Any = _TokenScoresFunction  # torch annotates `apply` only in part
    logprobs, entropy = function.apply(hidden, weight, targets, temperature, chunk, with_entropy)
    return TokenScores(logprobs, entropy if with_entropy else None)


class _ChunkLogits:
    """Makes the tempered logits of one chunk at a time, in buffers used over and over.

    Fresh buffers would cost a page fault for every 4 KiB written, which on a CPU takes about as
    long as the arithmetic.
    """

    def __init__(self, hidden: Tensor, weight: Tensor, temperature: float, chunk: int) -> None:
        self._hidden = hidden
        self._weight = weight
        self._temperature = temperature
        self._chunk = min(chunk, max(len(hidden), 1))
        self.dtype = torch.float64 if weight.dtype == torch.float64 else torch.float32
        shape = (self._chunk, weight.shape[0])
        self._product = weight.new_empty(shape)
        self._logits = self._product.to(self.dtype)
        self._work = torch.empty_like(self._logits)

    def __iter__(self) -> Iterator[tuple[slice, Tensor, Tensor, Tensor]]:
        """Yield (rows, hidden `[n, H]` in the head's dtype, logits `[n, V]`, work `[n, V]`)."""
        for start in range(0, len(self._hidden), self._chunk):
            rows = slice(start, min(start + self._chunk, len(self._hidden)))
            hidden = self._hidden[rows].to(self._weight.dtype)
            product = self._product[: len(hidden)]
            torch.mm(hidden, self._weight.t(), out=product)
            logits = self._logits[: len(hidden)]
            if self._logits is not self._product:
                logits.copy_(product)
            if self._temperature != 1.0:
                logits.div_(self._temperature)
            yield rows, hidden, logits, self._work[: len(hidden)]


class _TokenScoresFunction(torch.autograd.Function):
    """The chunked reduction, with a backward pass that makes each chunk's logits again."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        targets: Tensor,
        temperature: float,
        chunk: int,
        with_entropy: bool,
    ) -> tuple[Tensor, Tensor]:
        with torch.autocast(hidden.device.type, enabled=False):
            chunks = _ChunkLogits(hidden, weight, temperature, chunk)
            logprobs = torch.empty(len(hidden), dtype=chunks.dtype, device=hidden.device)
            log_norm, entropy = torch.empty_like(logprobs), torch.empty_like(logprobs)
            for rows, _, logits, work in chunks:
                top = logits.amax(dim=-1, keepdim=True)
                torch.sub(logits, top, out=logits)
                chosen = logits.gather(-1, targets[rows, None]).squeeze(-1)
                torch.exp(logits, out=work)
                total = work.sum(dim=-1)
                log_total = total.log()
                logprobs[rows] = chosen - log_total
                log_norm[rows] = log_total + top.squeeze(-1)
                if with_entropy:
                    # H = log(sum e^z) - sum(p z), with z measured from the largest logit.
                    entropy[rows] = log_total - torch.einsum("nv,nv->n", work, logits) / total
        ctx.save_for_backward(hidden, weight, targets, log_norm, entropy)
        ctx.temperature, ctx.chunk = temperature, chunk
        ctx.set_materialize_grads(False)
        if not with_entropy:
            ctx.mark_non_differentiable(entropy)
        return logprobs, entropy

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  the decorator hides names
        ctx: Any, *grads: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        grad_logprobs, grad_entropy = grads
        hidden, weight, targets, log_norm, entropy = ctx.saved_tensors
        if grad_logprobs is None:
            grad_logprobs = torch.zeros_like(log_norm)
        grad_hidden = torch.empty_like(hidden) if ctx.needs_input_grad[0] else None
        grad_weight = None
        with torch.autocast(hidden.device.type, enabled=False):
            chunks = _ChunkLogits(hidden, weight, ctx.temperature, ctx.chunk)
            if ctx.needs_input_grad[1]:
                # Summed over many chunks, so not in half precision.
                grad_weight = torch.zeros_like(weight, dtype=chunks.dtype)
            for rows, hidden_rows, logits, work in chunks:
                grad = _logit_gradient(
                    logits.sub_(log_norm[rows, None]),
                    work,
                    targets[rows],
                    grad_logprobs[rows],
                    None if grad_entropy is None else (grad_entropy[rows], entropy[rows]),
                )
                if ctx.temperature != 1.0:
                    grad.div_(ctx.temperature)
                if grad_hidden is not None:
                    grad_hidden[rows] = grad.to(weight.dtype) @ weight
                if grad_weight is not None:
                    grad_weight.addmm_(grad.t(), hidden_rows.to(chunks.dtype))
        grad_weight = None if grad_weight is None else grad_weight.to(weight.dtype)
        return grad_hidden, grad_weight, None, None, None, None


def _logit_gradient(
    logp: Tensor,
    work: Tensor,
    targets: Tensor,
    grad_logprobs: Tensor,
    grad_entropy: tuple[Tensor, Tensor] | None,
) -> Tensor:
    """Return the gradient in the tempered logits `[n, V]`; overwrites `logp` and `work`.

    Args:
        logp: `[n, V]`, all log-probabilities.
        work: `[n, V]`, scratch.
        targets: int64 `[n]`.
        grad_logprobs: `[n]`.
        grad_entropy: (gradient, entropy), both `[n]`, or None where none flows.
    """
    probs = torch.exp(logp, out=work)
    if grad_entropy is None:
        grad = probs.mul_(grad_logprobs[:, None].neg())
    else:
        flow, entropy = grad_entropy
        # p * (-gH (log p + H) - gL), in place.
        logp.add_(entropy[:, None]).mul_(flow[:, None].neg()).sub_(grad_logprobs[:, None])
        grad = probs.mul_(logp)
    return grad.scatter_add_(-1, targets[:, None], grad_logprobs[:, None])
