"""Attention over rows that stand one behind the other, each seeing only itself.

Registered with transformers as `sampo_packed`, so that any of its decoders can use it. On CUDA it
is torch's own variable-length flash attention; elsewhere each row's attention is computed alone.
Calls that say nothing of packed rows (an engine's, with masks and cached keys) get plain `sdpa`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

PACKED = "sampo_packed"


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    cu_seq_lens_q: Tensor | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Attend within each row; `query` is `[1, heads, N, D]`, the result `[1, N, heads, D]`."""
    if cu_seq_lens_q is None:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **options
        )
    assert options.get("softcap") is None
    order: Tensor | None = options.get("key_order")
    if order is not None:
        key, value = key[:, :, order], value[:, :, order]
    starts = (cu_seq_lens_q, options["cu_seq_lens_k"])
    if query.is_cuda:
        longest = (options["max_length_q"], options["max_length_k"])
        return _flash((query, key, value), starts, longest, scaling), None
    rows = [
        _row(query[:, :, first:last], key[:, :, low:high], value[:, :, low:high], scaling)
        for (first, last), (low, high) in zip(*(pairwise(s.tolist()) for s in starts), strict=True)
    ]
    return torch.cat(rows, dim=2).transpose(1, 2), None


def _row(query: Tensor, key: Tensor, value: Tensor, scaling: float | None) -> Tensor:
    """Attend causally; the queries are those of the last keys."""
    new, seen = query.shape[2], key.shape[2]
    mask = None
    if new != seen:
        mask = torch.ones(new, seen, dtype=torch.bool, device=query.device).tril(seen - new)
    return scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=mask,
        is_causal=mask is None,
        scale=scaling,
        enable_gqa=query.shape[1] != key.shape[1],
    )


def _flash(
    states: tuple[Tensor, ...],
    starts: tuple[Tensor, Tensor],
    longest: tuple[int, int],
    scaling: float | None,
) -> Tensor:
    # torch 2.10 or later has it; the start-up test of `models.packing` tells where it does not.
    from torch.nn.attention.varlen import varlen_attn

    output = varlen_attn(
        *(each[0].transpose(0, 1) for each in states),
        cu_seq_q=starts[0],
        cu_seq_k=starts[1],
        max_q=longest[0],
        max_k=longest[1],
        scale=scaling,
        window_size=(-1, 0),  # causal, counted from the last key
        enable_gqa=states[0].shape[1] != states[1].shape[1],
    )
    assert isinstance(output, Tensor)
    return output[None]


def _mask(*, attention_mask: Tensor | None = None, **options: Any) -> Tensor | None:
    """Return no mask where causality is all there is to know: packed rows, or whole ones."""
    if attention_mask is None and options["q_length"] == options["kv_length"]:
        return None
    return sdpa_mask(attention_mask=attention_mask, **options)


AttentionInterface.register(PACKED, _attend)
AttentionMaskInterface.register(PACKED, _mask)
