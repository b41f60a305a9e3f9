"""What one update did, collected over its optimiser steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import torch

from sampo.losses import (
    LossOutput,
    Metric,
    TokenLog,
    combine,
    effective_sample_size,
    token_metrics,
)


@dataclass(kw_only=True)
class UpdateLog:
    """Numbers and tokens of one update; the module fills it, loggers and callbacks read it."""

    epoch_steps: int
    """Optimiser steps of one pass over the rollout."""
    clip_range: tuple[float, float] | None
    """Of the surrogate, for the shares out of range."""
    extra: dict[str, float] = field(default_factory=dict)
    """What was known of the rollout before the first step."""
    metrics: dict[str, Metric] = field(default_factory=dict)
    norms: list[float] = field(default_factory=list)
    """Gradient norm before clipping of each optimiser step."""
    skipped: int = 0
    """Optimiser steps that were not taken."""
    steps: list[list[TokenLog]] = field(default_factory=list)
    """Tokens of each optimiser step, one log per micro-batch."""

    def start_step(self) -> None:
        """Begin an optimiser step."""
        self.steps.append([])

    @property
    def first_step(self) -> bool:
        """Whether no optimiser step has been taken yet."""
        return len(self.steps) == 1

    def add(self, output: LossOutput) -> None:
        """Take in a micro-batch of the present step."""
        self.metrics = combine(self.metrics, output.metrics)
        self.steps[-1].append(output.tokens)

    def last_pass(self) -> TokenLog:
        """Return every action token once, as the last pass over the rollout saw it."""
        return TokenLog.cat([part for step in self.steps[-self.epoch_steps :] for part in step])

    @cached_property
    def values(self) -> dict[str, float]:
        """Everything as numbers under bare names; ask when the update is complete."""
        finite = [norm for norm in self.norms if math.isfinite(norm)]
        parts = [part for step in self.steps for part in step]
        tokens = TokenLog.cat(parts)
        return {
            **self.extra,
            **{name: metric.value for name, metric in self.metrics.items()},
            **token_metrics(tokens, self.clip_range),
            **_sampling(parts),
            "grad_norm": sum(finite) / len(finite) if finite else math.nan,
            "grad_norm_max": max(finite, default=math.nan),
            "optimizer_steps": float(len(self.norms)),
            "skipped_steps": float(self.skipped),
        }


def _sampling(parts: list[TokenLog]) -> dict[str, float]:
    """Return the effective sample size of the trainer's against the engine's probabilities."""
    known = [part.mismatch for part in parts if part.mismatch is not None and len(part)]
    if not known:
        return {}
    return {"sampling_effective_sample_size": effective_sample_size(torch.cat(known))}
