# pyright: strict
"""Numbers about an update that add up over micro-batches and ranks.

A loss cannot return a mean: means of micro-batches of different size do not average. It returns
the parts, as detached 0-d tensors; whoever logs them combines the parts of all micro-batches (and
all-reduces them over ranks), then takes `value`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A weighted mean in parts: `value = total / weight`; both parts add up."""

    total: Tensor
    weight: Tensor

    @classmethod
    def over(cls, values: Tensor, mask: Tensor) -> Mean:
        """Return the mean of `values` over the true entries of `mask` (same shape)."""
        kept = torch.where(mask, values.detach(), torch.zeros_like(values))
        return cls(total=kept.sum(), weight=mask.sum().to(kept.dtype))

    @property
    def value(self) -> float:
        """The mean; 0 where nothing was counted."""
        weight = float(self.weight)
        return float(self.total) / weight if weight else 0.0

    def __add__(self, other: Mean) -> Mean:
        """Combine with the same number of another micro-batch."""
        return Mean(total=self.total + other.total, weight=self.weight + other.weight)


@dataclass(frozen=True, kw_only=True)
class Max:
    """A largest value; `-inf` where nothing was seen."""

    largest: Tensor

    @classmethod
    def over(cls, values: Tensor, mask: Tensor) -> Max:
        """Return the largest of `values` over the true entries of `mask` (same shape)."""
        low = torch.full_like(values, -torch.inf)
        kept = torch.where(mask, values.detach(), low)
        return cls(largest=kept.max() if kept.numel() else kept.new_tensor(-torch.inf))

    @property
    def value(self) -> float:
        """The largest value."""
        return float(self.largest)

    def __add__(self, other: Max) -> Max:
        """Combine with the same number of another micro-batch."""
        return Max(largest=torch.maximum(self.largest, other.largest))


Metric = Mean | Max
"""What a loss reports under a name."""


def combine(left: Mapping[str, Metric], right: Mapping[str, Metric]) -> dict[str, Metric]:
    """Return the metrics of two micro-batches together; a name may be in one of them only."""
    combined: dict[str, Metric] = dict(left)
    for name, metric in right.items():
        before = combined.get(name)
        if before is None:
            combined[name] = metric
        elif isinstance(before, Mean):
            assert isinstance(metric, Mean), f"{name!r} is a mean here and a maximum there"
            combined[name] = before + metric
        else:
            assert isinstance(metric, Max), f"{name!r} is a maximum here and a mean there"
            combined[name] = before + metric
    return combined
