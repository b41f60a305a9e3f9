# pyright: strict
"""What goes into a policy loss, what comes out, and what is decided before.

Carriers only. `LossPlan` is made once per mini-batch, `LossInputs` and `LossOutput` once per
micro-batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sampo.losses.aggregation import TokenWeights
from sampo.losses.metrics import Metric
from sampo.losses.token_log import TokenLog


@dataclass(frozen=True, kw_only=True)
class LossInputs:
    """One micro-batch; all tensors `[B, L]`, aligned with the token ids of its rows."""

    logprobs: Tensor
    """Current log-probabilities, with gradient."""
    old_logprobs: Tensor
    """The rollout policy's: recomputed when the batch came in, or the engine's."""
    advantages: Tensor
    action_mask: Tensor
    """bool, true on tokens that the policy wrote. Other entries of every tensor are ignored."""
    turn_ids: Tensor
    """int64, unique over the mini-batch on action tokens."""
    episode_ids: Tensor
    """int64, unique over the mini-batch on action tokens."""
    weights: Tensor
    """Weight of each token in the surrogate, normalised over the whole mini-batch and all ranks
    (`LossPlan`). Tokens that a sequence mask or a correction rejects have weight zero."""
    regulariser_weights: Tensor | None = None
    """The same for the KL and entropy terms. None: `weights`."""
    ref_logprobs: Tensor | None = None
    """The reference's log-probabilities; needed with `kl_coef > 0`."""
    entropy: Tensor | None = None
    """Entropy in nats of the current policy at each token; needed with `entropy_coef > 0`, and
    then with gradient."""
    sampling_logprobs: Tensor | None = None
    """The engine's own log-probabilities, for the mismatch metrics."""
    recomputed_logprobs: Tensor | None = None
    """What they are compared with: the rollout policy's, by the trainer. None: `old_logprobs`."""
    entropy_zscores: Tensor | None = None
    """Standardised entropies, for surrogates that need them (`Surrogate.needs_entropy`)."""
    keep: Tensor | None = None
    """bool, tokens whose surrogate counts, after sequence mask and correction. None: all action
    tokens."""
    values: Tensor | None = None
    """The value head's prediction before each token, with gradient; needed with a value loss."""
    old_values: Tensor | None = None
    """The same at the time of the rollout."""
    returns: Tensor | None = None
    """Targets of the value head."""


@dataclass(frozen=True, kw_only=True)
class LossOutput:
    """What one micro-batch contributes to the loss of its mini-batch."""

    loss: Tensor
    """0-d, a sum: the contributions of all micro-batches (and ranks) add up to the loss."""
    metrics: dict[str, Metric]
    """Parts of means and maxima, without gradient; add them over micro-batches and ranks."""
    tokens: TokenLog
    """What happened to every action token."""


@dataclass(frozen=True, kw_only=True)
class LossPlan:
    """What is decided over the whole mini-batch, before its first micro-batch."""

    surrogate: TokenWeights
    regulariser: TokenWeights
    """Weights of the KL and entropy terms: sequence masking does not touch them."""
    keep: Tensor
    """bool `[B, L]`, action tokens whose surrogate counts."""


def on_mask(values: Tensor, mask: Tensor) -> Tensor:
    """Return `values` in at least single precision, exactly zero (gradient too) off the mask."""
    wide = values if values.dtype == torch.float64 else values.to(torch.float32)
    return torch.where(mask, wide, torch.zeros_like(wide))
