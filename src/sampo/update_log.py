"""What one update did, collected over its optimiser steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import lightning as L
import torch
from torch import Tensor

from sampo.losses import (
    LossOutput,
    Metric,
    TokenLog,
    combine,
    effective_sample_size,
    token_metrics,
)
from sampo.world import World

Part = TypeVar("Part", TokenLog, Metric)


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

    def exchange(self, world: World) -> None:
        """Take in the micro-batches of the other ranks, after the last step. Collective."""
        if world.size == 1:
            return
        mine = (
            {name: _on_cpu(metric) for name, metric in self.metrics.items()},
            [[_on_cpu(part) for part in step] for step in self.steps],
        )
        self.metrics, self.steps = {}, [[] for _ in self.steps]
        for metrics, steps in world.gather(lambda: mine):
            self.metrics = combine(self.metrics, metrics)
            for step, parts in zip(self.steps, steps, strict=True):
                step.extend(parts)

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

    def report(
        self,
        module: L.LightningModule,
        update: int,
        *,
        learning_rate: float,
        kl_coef: float,
        seconds: float,
    ) -> None:
        """Log it all as `train/...`, against the number of updates so far."""
        values = {f"train/{name}": value for name, value in self.values.items()} | {
            "train/learning_rate": learning_rate,
            "train/kl_coef": kl_coef,
            "time/update_s": seconds,
        }
        cells = {name: values.pop(name) for name in list(values) if name.startswith("train/cells")}
        module.log("step", float(update))
        module.log_dict(values)
        # Straight to the loggers: Lightning's book-keeping would cost 2 ms for each of these.
        every: int = module.trainer.log_every_n_steps  # pyright: ignore[reportAttributeAccessIssue]
        if update % every == 0:
            for logger in module.loggers:
                logger.log_metrics(cells, step=update)


def _on_cpu(part: Part) -> Part:
    """Return a part with its tensors where any rank can read them."""
    values: dict[str, Any] = {f.name: getattr(part, f.name) for f in fields(part)}
    moved = {name: v.cpu() for name, v in values.items() if isinstance(v, Tensor)}
    return replace(part, **moved)


def _sampling(parts: list[TokenLog]) -> dict[str, float]:
    """Return the effective sample size of the trainer's against the engine's probabilities."""
    known = [part.mismatch for part in parts if part.mismatch is not None and len(part)]
    if not known:
        return {}
    return {"sampling_effective_sample_size": effective_sample_size(torch.cat(known))}
