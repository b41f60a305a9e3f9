"""SAMPO's LightningModule: the policy, its reference, and the update.

One training batch is one rollout by one policy version. Inside `training_step` (manual
optimisation): score it once with the present and the reference policy, then mini-batch after
mini-batch take one optimiser step on the loss. It holds no environment and no engine.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any, Literal

import torch
from lightning.pytorch.core.optimizer import LightningOptimizer
from torch import Tensor

from sampo.batch import RolloutBatch, ScoredBatch, shuffle_units, split_evenly
from sampo.errors import ConfigError, EngineError
from sampo.evaluation import EvaluatedModule
from sampo.losses import Metric, PolicyLoss, combine
from sampo.models.policy import Policy
from sampo.models.reference import Reference
from sampo.schedules import Schedule, lr_factor
from sampo.scoring import Scorer
from sampo.skipped_steps import SkippedSteps


class SampoModule(EvaluatedModule):
    """A policy under policy-gradient training.

    Args:
        policy: what is trained: a Hugging Face folder or hub id, or the name of a shipped policy.
        loss: dials 1 and 2, KL and entropy terms included.
        learning_rate: of AdamW.
        weight_decay: of AdamW.
        betas: of AdamW.
        max_grad_norm: gradients are scaled down to this norm.
        lr_schedule: course of the learning rate over the updates of the run.
        warmup_updates: updates over which the learning rate rises linearly from zero.
        num_mini_batches: optimiser steps per rollout and epoch, with equal numbers of rows.
        mini_batch_rows: in place of `num_mini_batches`: rows per optimiser step (the paper's way;
            the last mini-batch may be smaller).
        epochs: passes over each rollout.
        shuffle: whether rows are shuffled before they are split; the paper's code does not.
        micro_batch_tokens: most tokens (padding included) of one forward and backward pass. It
            changes memory and speed, never the gradient.
        temperature: of training samples; linked to the rollout's, because scores are those of the
            distribution that was sampled from.
        reference: whether to keep a frozen copy of the initial policy for the KL term.
        dtype: of the weights.
        attn_implementation: attention of transformers; None is its default.
        gradient_checkpointing: recompute activations in the backward pass, to save memory.
        max_skipped_steps: optimiser steps in a row that may be skipped because loss or gradient
            were not finite, before the run stops.
    """

    def __init__(
        self,
        policy: str,
        loss: PolicyLoss,
        learning_rate: float = 1e-6,
        weight_decay: float = 0.01,
        betas: tuple[float, float] = (0.9, 0.999),
        max_grad_norm: float = 1.0,
        lr_schedule: Schedule = "constant",
        warmup_updates: int = 0,
        num_mini_batches: int | None = None,
        mini_batch_rows: int | None = None,
        epochs: int = 1,
        shuffle: bool = False,
        micro_batch_tokens: int = 16384,
        temperature: float = 1.0,
        reference: bool = True,
        dtype: Literal["float32", "bfloat16", "float16"] = "float32",
        attn_implementation: str | None = None,
        gradient_checkpointing: bool = False,
        max_skipped_steps: int = 3,
    ) -> None:
        super().__init__()
        if num_mini_batches is not None and mini_batch_rows is not None:
            raise ConfigError(
                "model.num_mini_batches and model.mini_batch_rows say the same thing in two ways; "
                "set one of them to null."
            )
        if learning_rate <= 0:
            raise ConfigError(f"model.learning_rate must be above 0, got {learning_rate}.")
        if not reference and loss.needs_reference:
            raise ConfigError(
                "The loss has a KL term but model.reference is false; set model.loss.kl_coef to 0 "
                "or keep the reference."
            )
        self.automatic_optimization = False
        self.save_hyperparameters(ignore=["loss"])
        self.loss = loss
        self.policy: Policy | None = None
        self.skipped = SkippedSteps(max_skipped_steps)
        self.in_update = False
        """Whether the weights are between two versions."""
        self._scorer: Scorer | None = None
        """Not a module, so that the reference stays out of the module tree and of checkpoints."""

    def configure_model(self) -> None:
        """Load the policy and freeze a copy of it as the reference."""
        if self.policy is not None:
            return
        options = self.hparams
        self.policy = Policy.load(
            options["policy"],
            dtype=options["dtype"],
            attn_implementation=options["attn_implementation"],
            gradient_checkpointing=options["gradient_checkpointing"],
        )
        self._scorer = Scorer(
            policy=self.policy,
            reference=Reference.copy_of(self.policy) if options["reference"] else None,
            loss=self.loss,
            temperature=options["temperature"],
            micro_batch_tokens=options["micro_batch_tokens"],
        )

    @property
    def scorer(self) -> Scorer:
        """What scores rollouts, once the policy is loaded."""
        assert self._scorer is not None, "configure_model makes it"
        return self._scorer

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return AdamW over the policy."""
        options = self.hparams
        return torch.optim.AdamW(
            self.scorer.policy.parameters(),
            lr=options["learning_rate"],
            betas=tuple(options["betas"]),
            weight_decay=options["weight_decay"],
        )

    def on_fit_start(self) -> None:
        """Move the reference to the device; Lightning does not see it."""
        if self.scorer.reference is not None:
            self.scorer.reference.to(self.device)

    def training_step(self, batch: RolloutBatch, batch_idx: int) -> None:
        """Train on one rollout.

        Args:
            batch: one rollout by the present policy.
            batch_idx: not used; see `update_step`.
        """
        started = time.perf_counter()
        if batch.policy_version != self.update_step:
            raise EngineError(
                f"The rollout was made by policy version {batch.policy_version}, but the policy "
                f"is at version {self.update_step}. Add the WeightSync callback to the trainer."
            )
        self.in_update = True
        optimizer = self.optimizers()
        assert isinstance(optimizer, LightningOptimizer)
        for group in optimizer.param_groups:
            group["lr"] = self.hparams["learning_rate"] * self._lr_factor()
        mini_batches = self._mini_batches(batch)
        scored = self.scorer.score(batch, unchanged=len(mini_batches) == 1)
        metrics: dict[str, Metric] = {}
        norms: list[float] = []
        for rows in mini_batches:
            parts, norm = self._step(optimizer, scored.select(rows))
            metrics = combine(metrics, parts)
            norms.append(norm)
        self.update_step += 1
        self.in_update = False
        self._log_update(metrics, norms, optimizer, time.perf_counter() - started)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Store the counters that belong to the weights."""
        checkpoint["sampo"] = {
            "update_step": self.update_step,
            "skipped_in_a_row": self.skipped.in_a_row,
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore the counters."""
        self.update_step = checkpoint["sampo"]["update_step"]
        self.skipped.in_a_row = checkpoint["sampo"]["skipped_in_a_row"]

    def _mini_batches(self, batch: RolloutBatch) -> list[Tensor]:
        """Return the rows of each optimiser step, over all epochs."""
        units = batch.units(self.loss.keep_together_in_mini_batch)
        rows_per_step, parts = self.hparams["mini_batch_rows"], self.hparams["num_mini_batches"]
        if rows_per_step is not None:
            parts = math.ceil(len(batch) / rows_per_step)
        steps: list[Tensor] = []
        for epoch in range(self.hparams["epochs"]):
            if self.hparams["shuffle"]:
                units = shuffle_units(units, self.update_step * self.hparams["epochs"] + epoch)
            steps += split_evenly(units, parts or 1)
        return steps

    def _step(
        self, optimizer: LightningOptimizer, scored: ScoredBatch
    ) -> tuple[dict[str, Metric], float]:
        """Take one optimiser step on a mini-batch; return its metrics and gradient norm."""
        scored = self.scorer.plan(scored)
        metrics: dict[str, Metric] = {}
        total = 0.0
        optimizer.zero_grad()
        for rows in self.scorer.micro_batches(scored.batch):
            output = self.loss(self.scorer.loss_inputs(scored.select(rows)))
            self.manual_backward(output.loss)
            metrics = combine(metrics, output.metrics)
            total += float(output.loss.detach())
        parameters = self.scorer.policy.parameters()
        norm = torch.nn.utils.clip_grad_norm_(parameters, self.hparams["max_grad_norm"])
        if math.isfinite(total) and bool(torch.isfinite(norm)):
            optimizer.step()
            self.skipped.taken()
        else:
            optimizer.zero_grad()
            folder = Path(self.trainer.log_dir or self.trainer.default_root_dir) / "skipped"
            self.skipped.skip(scored.batch, self.update_step, folder)
        return metrics, float(norm)

    def _lr_factor(self) -> float:
        """Return the learning rate's share of its full value at the present update."""
        kind, total = self.hparams["lr_schedule"], None
        if kind != "constant":
            epochs, batches = self.trainer.max_epochs, self.trainer.num_training_batches
            if not epochs or epochs < 0 or math.isinf(batches):
                raise ConfigError(f"model.lr_schedule={kind} needs a finite trainer.max_epochs.")
            total = epochs * int(batches)
        return lr_factor(kind, self.update_step, total, self.hparams["warmup_updates"])

    def _log_update(
        self,
        metrics: dict[str, Metric],
        norms: list[float],
        optimizer: LightningOptimizer,
        seconds: float,
    ) -> None:
        values = {f"train/{name}": metric.value for name, metric in metrics.items()}
        finite = [norm for norm in norms if math.isfinite(norm)]
        values |= {
            "train/grad_norm": sum(finite) / len(finite) if finite else math.nan,
            "train/learning_rate": optimizer.param_groups[0]["lr"],
            "train/optimizer_steps": float(len(norms)),
            "train/skipped_steps": float(len(norms) - len(finite)),
            "time/update_s": seconds,
        }
        self.log("step", float(self.update_step))
        self.log_dict(values)
