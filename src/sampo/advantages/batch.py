# pyright: strict
"""The second contract of dial 3: what needs the whole rollout batch, token by token.

Most methods compare the episodes of one group and are done (`AdvantageEstimator`). Some need what
no group knows: statistics over the batch (whitening), the policy's entropy (EMPG), a value head
(GAE), the log-probabilities of the reference (KL in the reward). They are a second stage::

    per group   AdvantageEstimator(group) -> [episode][turn]         before collation
    collate     spread over the action tokens                        RolloutBatch.advantages
    per batch   BatchAdvantage(inputs) -> BatchAdvantageOutput       once per rollout batch

The second stage runs on the whole rollout batch (gathered over ranks, should there be several),
without gradient, after the old log-probabilities were recomputed and before the first mini-batch.
Its `requires` says what else must be computed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from sampo.errors import ConfigError

Requirement = Literal["entropy", "values", "kl"]


@dataclass(frozen=True, kw_only=True)
class BatchAdvantageInputs:
    """A whole rollout batch; all tensors `[B, L]`, aligned with the token ids."""

    advantages: Tensor
    """The first stage's number of each turn, on all its action tokens; 0 off the mask."""
    action_mask: Tensor
    """bool."""
    turn_ids: Tensor
    """int64, unique in the batch, rising with time within an episode; -1 off the mask."""
    episode_ids: Tensor
    """int64, unique in the batch; -1 off the mask."""
    entropy: Tensor | None = None
    """Entropy in nats of the rollout policy at each token."""
    values: Tensor | None = None
    """The value head's prediction before each token."""
    kl: Tensor | None = None
    """Estimate (k1) of the KL to the reference of each token, under the rollout policy."""


@dataclass(frozen=True, kw_only=True)
class BatchAdvantageOutput:
    """What the update uses."""

    advantages: Tensor
    """`[B, L]`, zero off the mask."""
    returns: Tensor | None = None
    """`[B, L]`, targets of the value head, for methods that have one."""


class BatchAdvantage(ABC):
    """From a rollout batch to its final token advantages. Pure; never NaN."""

    @property
    def requires(self) -> frozenset[Requirement]:
        """Which optional inputs must be given."""
        return frozenset()

    @abstractmethod
    def __call__(self, inputs: BatchAdvantageInputs) -> BatchAdvantageOutput:
        """Return the final advantages."""


def required(tensor: Tensor | None, name: Requirement, method: str) -> Tensor:
    """Return a tensor that a method requires.

    Raises:
        ConfigError: if it is missing.
    """
    if tensor is None:
        raise ConfigError(
            f"{method} needs the {name} of every action token, but none were computed; see "
            "BatchAdvantage.requires."
        )
    return tensor


def whitened(values: Tensor, mask: Tensor) -> Tensor:
    """Return `(x - mean) / sqrt(var + 1e-8)` over the mask, zero off it.

    The variance is unbiased. Equal values give exact zeros, and so does a single one.
    """
    kept = values[mask].to(torch.float64)
    result = torch.zeros_like(values)
    if kept.numel() < 2 or bool(kept.min() == kept.max()):
        return result
    result[mask] = ((kept - kept.mean()) / (kept.var() + 1e-8).sqrt()).to(values.dtype)
    return result
