# pyright: strict
"""Sums and means over the action tokens of each turn of a rollout batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from sampo.advantages.batch import BatchAdvantageInputs


@dataclass(frozen=True, kw_only=True)
class Turns:
    """The turns of a rollout, in the order of their ids."""

    number: Tensor
    """int64 `[N]`, the turn of each action token, from 0."""
    lengths: Tensor
    """int64 `[K]`, action tokens of each turn."""

    @classmethod
    def of(cls, inputs: BatchAdvantageInputs) -> Turns:
        """Return the turns of a batch."""
        unique = cast(Callable[..., tuple[Tensor, Tensor, Tensor]], torch.unique)  # pyright: ignore[reportUnknownMemberType]
        ids = inputs.turn_ids[inputs.action_mask]
        _, number, lengths = unique(ids, return_inverse=True, return_counts=True)
        return cls(number=number, lengths=lengths)

    def __len__(self) -> int:
        """Return the number of turns."""
        return self.lengths.shape[0]

    def sum(self, tokens: Tensor) -> Tensor:
        """Return `[K]` float64 from one value per action token, `[N]`."""
        sums = torch.zeros(len(self), dtype=torch.float64, device=tokens.device)
        return sums.index_add(0, self.number, tokens.to(torch.float64))

    def mean(self, tokens: Tensor) -> Tensor:
        """Return `[K]` float64, the mean over each turn's tokens."""
        return self.sum(tokens) / self.lengths
