"""How far two computations of the same log-probabilities are apart, and how far they may be."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sampo.losses import kl_estimate


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """The largest gap that rounding explains."""

    max_diff: float
    """Of one token's log-probability, in nats."""
    k3: float
    """Of the mean over tokens."""


# What rounding does: the order of sums changes with the batch's shape and with the kernel. float32:
# up to 4e-5 between vLLM and transformers at 135M parameters. bfloat16: mean k3 0.0016 and mean
# difference 0.011 in healthy runs of others (verl#7749, vime#64), single unlikely tokens far more.
_TOLERANCES = {
    torch.float64: Tolerance(max_diff=1e-6, k3=1e-9),
    torch.float32: Tolerance(max_diff=1e-3, k3=1e-6),
    torch.float16: Tolerance(max_diff=0.2, k3=5e-4),
    torch.bfloat16: Tolerance(max_diff=1.0, k3=5e-3),
}


def tolerance(dtype: torch.dtype) -> Tolerance:
    """Return what log-probabilities computed in `dtype` may differ by."""
    return _TOLERANCES[dtype]


@dataclass(frozen=True, kw_only=True)
class Gap:
    """The distance between two sets of log-probabilities."""

    max_diff: float
    """Largest absolute difference of one token; NaN where something is not finite."""
    k3: float
    """Mean of k3, the estimate of their KL divergence."""
    tokens: int

    @classmethod
    def between(cls, one: Tensor, other: Tensor, mask: Tensor) -> Gap:
        """Measure log-probabilities `[B, L]` on a mask that is true somewhere."""
        one, other = one[mask].double(), other[mask].double()
        return cls(
            max_diff=float((one - other).abs().max()),
            k3=float(kl_estimate(one, other, "k3").mean()),
            tokens=len(one),
        )

    def within(self, limit: Tolerance) -> bool:
        """Return whether rounding explains it; NaN never is."""
        return self.max_diff <= limit.max_diff and self.k3 <= limit.k3

    def describe(self, limit: Tolerance) -> str:
        """Return both numbers, each with its limit."""
        return (
            f"largest difference {self.max_diff:.2g} (limit {limit.max_diff:g}), mean k3 "
            f"{self.k3:.2g} (limit {limit.k3:g}), {self.tokens} tokens"
        )
