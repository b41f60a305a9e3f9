# pyright: strict
"""Surrogates that bound nothing: plain REINFORCE, and importance-weighted without a clip."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sampo.losses.surrogates import Surrogate, SurrogateInputs, SurrogateOutput


@dataclass(frozen=True, kw_only=True)
class Reinforce(Surrogate):
    """The policy gradient without importance ratio: `L_t = -A log pi(y_t)`.

    Right only on-policy: with one optimiser step per rollout batch. Its value is not comparable
    with that of the other surrogates.

    References:
        Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement Learning,
        https://doi.org/10.1007/BF00992696
    """

    def __call__(self, inputs: SurrogateInputs) -> SurrogateOutput:
        """Return the loss of every token."""
        never = torch.zeros_like(inputs.batch.action_mask)
        return SurrogateOutput(
            loss=-inputs.advantages * inputs.logprobs,
            log_weight=inputs.ratio(inputs.log_ratio.detach(), inputs.batch),
            clipped=never,
            clipped_lower=never,
        )


@dataclass(frozen=True, kw_only=True)
class Unclipped(Surrogate):
    """The importance-weighted surrogate without a clip: `L_t = -A r`.

    Unbiased off-policy, with a variance that nothing bounds but the clamp of the ratio: a baseline
    to compare clips with.
    """

    def __call__(self, inputs: SurrogateInputs) -> SurrogateOutput:
        """Return the loss of every token."""
        never = torch.zeros_like(inputs.batch.action_mask)
        log_weight = inputs.ratio(inputs.log_ratio, inputs.batch)
        return SurrogateOutput(
            loss=-inputs.advantages * log_weight.exp(),
            log_weight=log_weight.detach(),
            clipped=never,
            clipped_lower=never,
        )
