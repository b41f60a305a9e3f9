# pyright: strict
"""Dial 1: how much each token counts.

The one normalisation law: the weights and the denominator are computed from masks and segment ids
over the *whole mini-batch* (all micro-batches, all ranks) before the first micro-batch, and the
loss is the weighted sum. So splitting, packing, ordering or sharding a batch changes no gradient.
The reference code of the paper aggregates per micro-batch and averages; with `token_mean` that
depends on the split, and it is the one place where this package departs from it on purpose.

The caller (the module) does, per mini-batch::

    parts = aggregation(mini_batch)
    denominator = all_reduce_sum(parts.denominator)
    weights = parts.normalised(denominator)          # [B, L], then cut into micro-batches
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from sampo.errors import ConfigError, did_you_mean
from sampo.losses.segments import HasSegments, segments

AggregationKind = Literal[
    "token_mean",
    "sequence_mean_token_mean",
    "sequence_mean_token_sum",
    "sum_over_max_length",
]

_KINDS = (
    "token_mean",
    "sequence_mean_token_mean",
    "sequence_mean_token_sum",
    "sum_over_max_length",
)


@dataclass(frozen=True, kw_only=True)
class TokenWeights:
    """Weights before normalisation, and what they are to be divided by."""

    weights: Tensor
    """float32 `[B, L]`, zero off the mask."""
    denominator: Tensor
    """float32, 0-d: a count that adds up over mini-batch shards."""

    def normalised(self, denominator: Tensor | None = None) -> Tensor:
        """Return `weights / denominator`; zeros where nothing was counted at all.

        Args:
            denominator: the sum over all ranks; None: this shard is everything.
        """
        total = self.denominator if denominator is None else denominator
        return self.weights / total.clamp(min=1.0)


@dataclass(frozen=True, kw_only=True)
class Aggregation:
    """Weight of every token in the loss.

    With `T_s` the action tokens of sequence `s`, `N` the number of sequences with `T_s > 0` and
    `M` = `max_length`::

        token_mean                 w = 1         divided by sum_s T_s      (the paper's Eq. 5)
        sequence_mean_token_mean   w = 1 / T_s   divided by N              (the paper's Eq. 4)
        sequence_mean_token_sum    w = 1         divided by N              (the paper's Eq. S4)
        sum_over_max_length        w = 1 / M     divided by N              (Dr. GRPO; Eq. S5)

    A sequence is what `level` says. It must lie whole in one mini-batch on one rank.

    References:
        ARLArena, https://arxiv.org/abs/2602.21534 (Eq. 4, 5, S2 to S5)
        Understanding R1-Zero-Like Training: A Critical Perspective (Dr. GRPO),
        https://arxiv.org/abs/2503.20783

    Example (two turns of 3 and 1 tokens)::

        token_mean                 1/4 1/4 1/4 | 1/4
        sequence_mean_token_mean   1/6 1/6 1/6 | 1/2
        sequence_mean_token_sum    1/2 1/2 1/2 | 1/2
    """

    kind: AggregationKind = "sequence_mean_token_mean"
    level: Literal["turn", "episode"] = "turn"
    """What a sequence is. In a window context a turn is a row, which is the paper's sequence."""
    max_length: int | None = None
    """Tokens, for `sum_over_max_length` only: the limit of one sequence's action tokens. None: the
    caller fills in the limit of a reply (`PolicyLoss.with_reply_limit`)."""

    def __post_init__(self) -> None:
        """Refuse unknown names and a `max_length` that cannot work or has no effect."""
        if self.kind not in _KINDS:
            hint = did_you_mean(self.kind, _KINDS)
            raise ConfigError(
                f"aggregation.kind is {self.kind!r}; it must be one of {', '.join(_KINDS)}.{hint}"
            )
        if self.level not in ("turn", "episode"):
            raise ConfigError(f"aggregation.level is {self.level!r}; it must be turn or episode.")
        wants_length = self.kind == "sum_over_max_length"
        if self.max_length is not None and self.max_length < 1:
            raise ConfigError(f"aggregation.max_length must be at least 1, got {self.max_length}.")
        if not wants_length and self.max_length is not None:
            raise ConfigError(
                f"aggregation.max_length={self.max_length} has no effect with "
                f"aggregation.kind={self.kind}; remove it or use sum_over_max_length."
            )

    def __call__(self, batch: HasSegments, keep: Tensor | None = None) -> TokenWeights:
        """Return the weights of a whole mini-batch, or of one rank's shard of it.

        Args:
            batch: masks and ids, `[B, L]` each.
            keep: bool `[B, L]`, tokens that count; None: all action tokens. Whole sequences only:
                the lengths are those of the action mask.
        """
        mask = batch.action_mask
        kept = mask if keep is None else mask & keep
        ones = kept.to(torch.float32)
        if self.kind == "token_mean":
            return TokenWeights(weights=ones, denominator=ones.sum())
        parts = segments(batch, self.level)
        alive = parts.sum(ones) > 0
        denominator = alive.sum().to(torch.float32)
        if self.kind == "sequence_mean_token_mean":
            weights = ones * parts.expand(1.0 / parts.lengths.to(torch.float32))
        elif self.kind == "sequence_mean_token_sum":
            weights = ones
        else:
            if self.max_length is None:
                raise ConfigError(
                    "aggregation.kind=sum_over_max_length divides by a fixed length; set "
                    "aggregation.max_length to the most action tokens of one sequence."
                )
            weights = ones / self.max_length
        return TokenWeights(weights=weights, denominator=denominator)
