# pyright: strict, reportUnknownMemberType=false
# torch types neither what `unique` returns nor the items of `tolist`.
"""What is trained on: padded rows of exact tokens, with masks and segment ids.

Shape legend: `B` rows, `L` tokens of the longest row. All `[B, L]` tensors are aligned with
`token_ids`: entry `t` belongs to token `t` (its log-probability comes from the logits at `t - 1`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import cast

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class RolloutBatch:
    """One rollout batch, made by one policy version.

    Example (one transcript row of two turns; `P` prompt, `A` action, `.` padding)::

        token_ids    P  P  A  A  P  A  .
        action_mask  0  0  1  1  0  1  0
        turn_ids    -1 -1  0  0 -1  1 -1
        episode_ids -1 -1  0  0 -1  0 -1
    """

    token_ids: Tensor
    """int64 `[B, L]`, padded on the right with the pad id."""
    lengths: Tensor
    """int64 `[B]`, tokens of each row without padding."""
    action_mask: Tensor
    """bool `[B, L]`, true on tokens that the policy wrote."""
    turn_ids: Tensor
    """int64 `[B, L]`, number of the turn on action tokens (unique in the whole batch), else -1."""
    episode_ids: Tensor
    """int64 `[B, L]`, number of the episode on action tokens (unique in the batch), else -1."""
    advantages: Tensor
    """float32 `[B, L]`, zero off the action mask."""
    sampling_logprobs: Tensor
    """float32 `[B, L]`, the engine's own, zero off the action mask."""
    policy_version: int
    """Version of the policy that sampled the rows (the oldest, should they differ)."""
    regroup: Callable[[frozenset[int]], Sequence[Sequence[float]]] | None = None
    """Returns the advantages `[episode][turn]` as if the given episodes had not been played."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.token_ids.shape[0]

    def to(self, device: torch.device | str) -> RolloutBatch:
        """Return the batch with all tensors on `device`."""
        moved = {
            f.name: value.to(device)
            for f in fields(self)
            if isinstance(value := getattr(self, f.name), Tensor)
        }
        return replace(self, **moved)

    def select(self, rows: Tensor) -> RolloutBatch:
        """Return the given rows (int64 indices), trimmed to the longest of them."""
        lengths = self.lengths[rows]
        width = int(lengths.max()) if len(rows) else 0
        cut = {
            f.name: value[rows, :width]
            for f in fields(self)
            if isinstance(value := getattr(self, f.name), Tensor) and value.ndim == 2
        }
        return replace(self, lengths=lengths, **cut)

    def without(self, rejected: Tensor) -> RolloutBatch:
        """Return the batch with the advantages it would have without some episodes, theirs zero.

        Args:
            rejected: bool `[B, L]`, action tokens of whole episodes.

        Raises:
            ValueError: the batch does not know its groups.
        """
        found = cast(Tensor, torch.unique(self.episode_ids[rejected]))
        numbers = frozenset(cast(list[int], found.tolist()))
        if not numbers:
            return self
        if self.regroup is None:
            raise ValueError("Episodes are to leave their groups, but `regroup` is not given.")
        values = [value for turns in self.regroup(numbers) for value in turns]
        per_turn = self.advantages.new_tensor([*values, 0.0])  # -1, off the mask, is the last
        return replace(self, advantages=per_turn[self.turn_ids])

    def units(self, together: str) -> Tensor:
        """Return int64 `[B]`: number of the unit that each row belongs to.

        Rows of one unit are never put into different micro- or mini-batches.

        Args:
            together: `episode` keeps the rows of an episode together; anything narrower lies
                within one row, so every row is a unit.
        """
        if together != "episode":
            return torch.arange(len(self), device=self.lengths.device)
        episodes = self.episode_ids.max(dim=1).values
        return cast(Tensor, torch.unique(episodes, return_inverse=True)[1])

    def distinct_rows(self) -> tuple[Tensor, Tensor]:
        """Return (int64 `[D]`, int64 `[B]`): one row of each kind, and the kind of each row.

        Rows are of one kind if they have the same tokens and the same action mask, so that a
        policy's scores of them are the same. Members of a group often meet the same state and give
        the same short reply (two thirds of the rows of a nano policy's Sokoban rollout).
        """
        keys = self.token_ids * 2 + self.action_mask
        kinds, kind = cast(tuple[Tensor, Tensor], torch.unique(keys, dim=0, return_inverse=True))
        numbers = torch.arange(len(self), device=kind.device)
        first = numbers.new_full((len(kinds),), len(self))
        return first.scatter_reduce(0, kind, numbers, "amin"), kind


@dataclass(frozen=True, kw_only=True)
class ScoredBatch:
    """A rollout batch with what was computed once, before its first optimiser step."""

    batch: RolloutBatch
    old_logprobs: Tensor | None
    """float32 `[B, L]`, by the policy that is about to be updated. None: the loss takes them from
    its own first forward pass (one optimiser step per rollout, so nothing has changed yet)."""
    ref_logprobs: Tensor | None
    """float32 `[B, L]`, by the reference policy. None: there is none."""
    weights: Tensor | None = None
    """float32 `[B, L]`, normalised weights of the surrogate, planned over a mini-batch."""
    regulariser_weights: Tensor | None = None
    """float32 `[B, L]`, likewise of the KL and entropy terms."""
    keep: Tensor | None = None
    """bool `[B, L]`, tokens whose surrogate counts, where a sequence mask or correction judges."""
    correction: Tensor | None = None
    """float32 `[B, L]`, weights for what the engine sampled otherwise than the trainer would."""
    entropy_zscores: Tensor | None = None
    """float32 `[B, L]`, entropies standardised over a mini-batch, for surrogates that need them."""
    old_values: Tensor | None = None
    """float32 `[B, L]`, a value head's predictions at the time of the rollout."""
    returns: Tensor | None = None
    """float32 `[B, L]`, its targets."""

    def select(self, rows: Tensor) -> ScoredBatch:
        """Return the given rows (int64 indices), trimmed to the longest of them."""
        batch = self.batch.select(rows)
        width = batch.token_ids.shape[1]
        cut = {
            f.name: value[rows, :width]
            for f in fields(self)
            if isinstance(value := getattr(self, f.name), Tensor)
        }
        return replace(self, batch=batch, **cut)


def split_evenly(units: Tensor, parts: int) -> list[Tensor]:
    """Return row indices of `parts` mini-batches with equal numbers of units, in order.

    Args:
        units: int64 `[B]`, the unit of each row; see `RolloutBatch.units`.
        parts: number of mini-batches; never more than there are units are returned.

    Example:
        >>> [rows.tolist() for rows in split_evenly(torch.tensor([0, 0, 1, 2, 2]), 2)]
        [[0, 1, 2], [3, 4]]
    """
    numbers = cast(Tensor, torch.unique(units))
    chunks = torch.tensor_split(numbers, min(parts, len(numbers)))
    return [torch.isin(units, chunk).nonzero().flatten() for chunk in chunks]


def split_by_rows(units: Tensor, rows: int) -> list[Tensor]:
    """Return row indices of mini-batches of `rows` rows, in order; the last one may be smaller.

    A unit that does not fit any more starts the next one; a larger one gets one of its own.

    Args:
        units: int64 `[B]`, the unit of each row; see `RolloutBatch.units`.
        rows: most rows of a mini-batch.

    Example:
        >>> [part.tolist() for part in split_by_rows(torch.tensor([0, 0, 1, 2, 2]), 3)]
        [[0, 1, 2], [3, 4]]
    """
    numbers, counts = cast(tuple[Tensor, Tensor], torch.unique(units, return_counts=True))
    chunks: list[list[int]] = []
    size = 0
    pairs = zip(cast(list[int], numbers.tolist()), cast(list[int], counts.tolist()), strict=True)
    for number, count in pairs:
        if not chunks or size + count > rows:
            chunks.append([])
            size = 0
        chunks[-1].append(number)
        size += count
    members = (torch.tensor(chunk, device=units.device) for chunk in chunks)
    return [torch.isin(units, chunk).nonzero().flatten() for chunk in members]


def shuffle_units(units: Tensor, seed: int) -> Tensor:
    """Return the units `[B]` under other numbers, so that a split in order is a random one."""
    order = torch.randperm(int(units.max()) + 1, generator=torch.Generator().manual_seed(seed))
    return order.to(units.device)[units]
