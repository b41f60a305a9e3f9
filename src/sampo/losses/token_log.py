# pyright: strict
"""What happened to every action token of an update: the rows of diagnostics and of the viewer.

A loss gives one part per micro-batch; `TokenLog.cat` puts them together. Everything is flat and
without gradient, so a log of a million tokens takes some tens of megabytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from sampo.losses.kl import kl_estimate

if TYPE_CHECKING:
    from sampo.losses.inputs import LossInputs
    from sampo.losses.surrogates import SurrogateOutput


@dataclass(frozen=True, kw_only=True)
class TokenLog:
    """Action tokens as the loss saw them; all `[N]`, tokens of a turn in their order."""

    turn: Tensor
    """int64, number of the turn in the rollout batch."""
    advantages: Tensor
    old_logprobs: Tensor
    """Log-probability under the rollout policy: recomputed, or the engine's."""
    log_ratio: Tensor
    """Current minus old log-probability of the token itself."""
    log_weight: Tensor
    """Log importance weight that the surrogate used (a segment's, at turn or episode level)."""
    in_range: Tensor
    """Log-ratio that the surrogate's clip range speaks of; mostly `log_weight`."""
    clipped: Tensor
    """bool, the main bound acted on it."""
    clipped_lower: Tensor
    """bool, the dual clip acted on it."""
    kept: Tensor
    """bool, false where a sequence mask or a correction rejected it."""
    entropy: Tensor | None = None
    """Nats."""
    ref_log_ratio: Tensor | None = None
    """Current minus the reference's log-probability: k1 of the KL to it."""
    mismatch: Tensor | None = None
    """The trainer's minus the engine's log-probability, where both are known."""

    @classmethod
    def of(cls, inputs: LossInputs, output: SurrogateOutput) -> TokenLog:
        """Return the action tokens of one micro-batch."""
        mask = inputs.action_mask

        def flat(values: Tensor | None) -> Tensor | None:
            return None if values is None else values.detach()[mask]

        logprobs, old = inputs.logprobs.detach()[mask], inputs.old_logprobs[mask]
        reference, sampled = flat(inputs.ref_logprobs), flat(inputs.sampling_logprobs)
        recomputed = old if inputs.recomputed_logprobs is None else inputs.recomputed_logprobs[mask]
        kept = torch.ones_like(inputs.turn_ids[mask], dtype=torch.bool)
        return cls(
            turn=inputs.turn_ids[mask],
            advantages=inputs.advantages[mask],
            old_logprobs=old,
            log_ratio=logprobs - old,
            log_weight=output.log_weight[mask],
            in_range=(output.log_weight if output.in_range is None else output.in_range)[mask],
            clipped=output.clipped[mask],
            clipped_lower=output.clipped_lower[mask],
            kept=kept if inputs.keep is None else inputs.keep[mask],
            entropy=flat(inputs.entropy),
            ref_log_ratio=None if reference is None else logprobs - reference,
            mismatch=None if sampled is None else recomputed - sampled,
        )

    @classmethod
    def cat(cls, parts: Sequence[TokenLog]) -> TokenLog:
        """Return several logs as one; what one of them lacks is left out."""
        columns: dict[str, Tensor | None] = {}
        for field in fields(cls):
            values: list[Tensor | None] = [getattr(part, field.name) for part in parts]
            there = [value for value in values if value is not None]
            columns[field.name] = torch.cat(there) if len(there) == len(parts) else None
        return cls(**columns)  # pyright: ignore[reportArgumentType]  None only where allowed

    def __len__(self) -> int:
        """Return the number of tokens."""
        return self.turn.shape[0]

    @property
    def ref_kl(self) -> Tensor | None:
        """k3 of the KL to the reference; None without one."""
        if self.ref_log_ratio is None:
            return None
        return kl_estimate(self.ref_log_ratio, torch.zeros_like(self.ref_log_ratio), "k3")
