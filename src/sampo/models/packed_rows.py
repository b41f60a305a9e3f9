"""Rows one behind the other, what they have in common at their beginning written once.

Prompts of one environment often begin alike: the rules of the game, the task of a group. Causal
attention gives these tokens the same states in every row, so they are computed once per pass, and
each row attends to them as if they stood before it (docs/scaling.md has what that brings).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

_WORTH_IT = 16
"""Shorter beginnings are written out: gathering keys for each row costs something, too."""


@dataclass(frozen=True, kw_only=True)
class PackedRows:
    """`N` tokens in one row, as a decoder takes them.

    Example (rows `a b c` and `a b d e` with the common beginning `a b`)::

        token_ids  a  b | c | d  e
        positions  0  1 | 2 | 2  3
        keys       a  b | a  b  c | a  b  d  e
    """

    token_ids: Tensor
    """int64 `[1, N]`."""
    positions: Tensor
    """int64 `[1, N]`, the place of each token in its own row."""
    offsets: Tensor
    """int64 `[B]`: column `c` of row `b` is at `offsets[b] + c`."""
    attention: dict[str, Any]
    """What the decoder passes on to its attention layers; most names are those of transformers."""

    @classmethod
    def of(cls, token_ids: Tensor, lengths: Tensor, beginning: int = 0) -> PackedRows:
        """Pack right-padded rows.

        Args:
            token_ids: int64 `[B, L]`.
            lengths: int64 `[B]`, tokens of each row.
            beginning: first tokens that are the same in all rows, and are written once.
        """
        columns = torch.arange(token_ids.shape[1], device=token_ids.device).expand_as(token_ids)
        inside = columns < lengths[:, None]
        own = inside & (columns >= beginning)
        offsets = (lengths - beginning).cumsum(0) - (lengths - beginning)
        queries, keys, extra = lengths - beginning, lengths, {}
        if beginning:
            queries, keys = (pad(each, (1, 0), value=beginning) for each in (queries, keys))
            place = torch.where(columns < beginning, columns, offsets[:, None] + columns)
            extra["key_order"] = torch.cat([columns[0, :beginning], place[inside]])
        starts = [pad(each.cumsum(0), (1, 0)).to(torch.int32) for each in (queries, keys)]
        return cls(
            token_ids=torch.cat([token_ids[0, :beginning], token_ids[own]])[None],
            positions=torch.cat([columns[0, :beginning], columns[own]])[None],
            offsets=offsets,
            attention={
                "cu_seq_lens_q": starts[0],
                "cu_seq_lens_k": starts[1],
                "max_length_q": int(queries.max()),
                "max_length_k": int(keys.max()),
                **extra,
            },
        )


def common_beginning(token_ids: Tensor, lengths: Tensor, action_mask: Tensor) -> int:
    """Return how many first tokens all rows share, if that is worth while, else 0.

    Every row keeps a token of its own, and all that predicts an action.
    """
    if len(lengths) < 2:
        return 0
    columns = torch.arange(token_ids.shape[1], device=token_ids.device)
    first_action = torch.where(action_mask, columns, token_ids.shape[1]).amin()
    most = torch.minimum(first_action, lengths.amin()) - 1
    same = (token_ids == token_ids[:1]).all(0) & (columns < most)
    shared = int(same.long().cumprod(0).sum())
    return shared if shared >= _WORTH_IT else 0
