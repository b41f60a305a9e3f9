# pyright: strict
"""Segments: sums and means over the tokens of a turn or of an episode.

The importance ratio, its clip, the sequence means and the sequence mask are all segment means, so
they share this file. A segment is the set of action tokens with one id; ids are unique in the whole
batch, so every function here works on any subset of rows that holds its segments whole, whatever
the order of the rows. Nothing here loops over segments.

Called by the other files of `sampo.losses`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, cast

import torch
from torch import Tensor

Level = Literal["token", "turn", "episode"]
"""What a segment is. In a window context a turn is a row (the paper's "sequence")."""

_WIDTH: dict[Level, int] = {"token": 0, "turn": 1, "episode": 2}


class HasSegments(Protocol):
    """Anything with the masks and ids of a batch: `RolloutBatch`, `LossInputs`."""

    @property
    def action_mask(self) -> Tensor:
        """Bool `[B, L]`, true on tokens that the policy wrote."""
        ...

    @property
    def turn_ids(self) -> Tensor:
        """int64 `[B, L]`, number of the turn on action tokens."""
        ...

    @property
    def episode_ids(self) -> Tensor:
        """int64 `[B, L]`, number of the episode on action tokens."""
        ...


@dataclass(frozen=True, kw_only=True)
class Segments:
    """A partition of the action tokens into `S` segments.

    Example (two turns in one row; `S = 2`)::

        mask     0 1 1 0 1
        turn_ids . 7 7 . 9
        index    2 0 0 2 1      lengths = [2, 1]
    """

    index: Tensor
    """int64 `[B, L]`, number of the segment from 0 on action tokens, `S` elsewhere."""
    mask: Tensor
    """bool `[B, L]`, the action tokens."""
    lengths: Tensor
    """int64 `[S]`, tokens of each segment; at least 1."""

    def __len__(self) -> int:
        """Return the number of segments."""
        return self.lengths.shape[0]

    def sum(self, values: Tensor) -> Tensor:
        """Return `[S]`, the sum of `values` `[B, L]` over the tokens of each segment."""
        kept = torch.where(self.mask, values, torch.zeros_like(values))
        sums = kept.new_zeros(len(self) + 1)
        return sums.index_add(0, self.index.flatten(), kept.flatten())[:-1]

    def mean(self, values: Tensor) -> Tensor:
        """Return `[S]`, the mean of `values` `[B, L]` over the tokens of each segment."""
        return self.sum(values) / self.lengths

    def expand(self, per_segment: Tensor) -> Tensor:
        """Return `[B, L]`: each token the value of its segment, zero off the mask."""
        padded = torch.cat([per_segment, per_segment.new_zeros(1)])
        return padded[self.index]


def segments(batch: HasSegments, level: Level) -> Segments:
    """Return the segments of a batch at a level.

    Args:
        batch: masks and ids, `[B, L]` each.
        level: `token` makes every action token a segment of its own.
    """
    mask = batch.action_mask
    if level == "token":
        number = torch.arange(int(mask.sum()), device=mask.device)
        lengths = torch.ones_like(number)
    else:
        ids = batch.turn_ids if level == "turn" else batch.episode_ids
        _, number, lengths = _unique(ids[mask])
    index = torch.full(mask.shape, lengths.shape[0], dtype=torch.int64, device=mask.device)
    index[mask] = number
    return Segments(index=index, mask=mask, lengths=lengths)


def _unique(ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct ids, the number of each entry's id among them, and the counts."""
    unique = cast(Callable[..., tuple[Tensor, Tensor, Tensor]], torch.unique)  # pyright: ignore[reportUnknownMemberType]
    return unique(ids, return_inverse=True, return_counts=True)


def widest(*levels: Level) -> Level:
    """Return the widest of some levels (`token` for none).

    Example:
        >>> widest("token", "turn")
        'turn'
    """
    narrowest: Level = "token"
    return max((narrowest, *levels), key=lambda level: _WIDTH[level])
