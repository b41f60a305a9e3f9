"""SAMPO's LightningModule: the policy, its reference, and the update; no environment, no engine.

One training batch is one rollout. Inside `training_step` (manual optimisation): score it once with
the present and the reference policy, then take one optimiser step per mini-batch.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from lightning.pytorch.core.optimizer import LightningOptimizer

from sampo.advantages import BatchAdvantage
from sampo.batch import RolloutBatch, ScoredBatch
from sampo.controls import Controls, check_objective, configured_kl
from sampo.evaluation import EvaluatedModule
from sampo.losses import AdaptiveKL, PolicyLoss
from sampo.mini_batches import MiniBatches
from sampo.models.policy import Policy
from sampo.models.reference import Reference
from sampo.off_policy import check_version, corrected
from sampo.optimizers import adamw, check_numbers, learning_rate_share, scale_learning_rates
from sampo.schedules import Schedule
from sampo.scoring import Scorer
from sampo.skipped_steps import SkippedSteps
from sampo.update_log import UpdateLog


class SampoModule(EvaluatedModule):
    """A policy under policy-gradient training.

    Args:
        policy: what is trained: a Hugging Face folder or hub id, or the name of a shipped policy.
        loss: dials 1 and 2, KL, entropy terms and off-policy correction included.
        batch_advantage: second stage of dial 3, over the whole rollout (EMPG, REINFORCE++, GAE,
            KL in the reward); None: the advantages of the groups are final.
        adaptive_kl: steers the coefficient of the KL, in the loss or in the reward.
        learning_rate: of AdamW.
        value_learning_rate: of a value head; None is ten times the policy's.
        weight_decay: of AdamW.
        betas: of AdamW.
        max_grad_norm: gradients are scaled down to this norm.
        lr_schedule: course of the learning rate over the updates of the run.
        warmup_updates: updates over which the learning rate rises linearly from zero.
        num_mini_batches: optimiser steps per rollout and epoch, with equal numbers of rows.
        mini_batch_rows: instead: rows per optimiser step, the paper's way; the last may be smaller.
        epochs: passes over each rollout.
        shuffle: whether rows are shuffled before they are split; the paper's code does not.
        micro_batch_tokens: most tokens (padding included) of one forward and backward pass. It
            changes memory and speed, never the gradient.
        old_logprobs: `recompute` the rollout policy's (one more forward pass), or take the
            engine's: then what engine and trainer differ by is part of the ratio.
        max_staleness: updates that a rollout's policy may be behind; linked to the data's.
        temperature: of training samples; linked to the rollout's, so that scores are comparable.
        max_new_tokens: most tokens of a reply; linked to the rollout's, for aggregations that
            divide by it.
        reference: whether to keep a frozen copy of the initial policy for the KL term.
        dtype: of the weights.
        attn_implementation: attention of transformers; None is its default.
        gradient_checkpointing: recompute activations in the backward pass, to save memory.
        max_skipped_steps: optimiser steps in a row without finite loss and gradient that are borne.
    """

    def __init__(
        self,
        policy: str,
        loss: PolicyLoss,
        batch_advantage: BatchAdvantage | None = None,
        adaptive_kl: AdaptiveKL | None = None,
        learning_rate: float = 1e-6,
        value_learning_rate: float | None = None,
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
        old_logprobs: Literal["recompute", "engine"] = "recompute",
        max_staleness: int = 0,
        temperature: float = 1.0,
        max_new_tokens: int | None = None,
        reference: bool = True,
        dtype: Literal["float32", "bfloat16", "float16"] = "float32",
        attn_implementation: str | None = None,
        gradient_checkpointing: bool = False,
        max_skipped_steps: int = 3,
    ) -> None:
        super().__init__()
        self.mini_batches = MiniBatches(
            number=num_mini_batches, rows=mini_batch_rows, epochs=epochs, shuffle=shuffle
        )
        check_objective(loss, batch_advantage, adaptive_kl, reference=reference)
        loss = corrected(loss, old_logprobs, stale=max_staleness > 0)
        self.automatic_optimization = False
        self.save_hyperparameters(ignore=["loss", "batch_advantage", "adaptive_kl"])
        check_numbers(self.hparams)
        self.loss = loss if max_new_tokens is None else loss.with_reply_limit(max_new_tokens)
        self.batch_advantage = batch_advantage
        self.adaptive_kl = adaptive_kl
        self.policy: Policy | None = None
        self.controls = Controls()
        """What controllers have changed of the config since the run began."""
        self.skipped = SkippedSteps(max_skipped_steps)
        self.in_update = False
        """Whether the weights are between two versions."""
        self.last_update: UpdateLog | None = None
        """What the latest update did to its tokens."""
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
        reference = Reference.copy_of(self.policy) if options["reference"] else None
        if self.loss.value is not None:
            self.policy.add_value_head()
        self._scorer = Scorer(
            policy=self.policy,
            reference=reference,
            loss=self.loss,
            stage=self.batch_advantage,
            temperature=options["temperature"],
            micro_batch_tokens=options["micro_batch_tokens"],
            recompute=options["old_logprobs"] == "recompute",
        )

    @property
    def scorer(self) -> Scorer:
        """What scores rollouts, once the policy is loaded."""
        assert self._scorer is not None, "configure_model makes it"
        return self._scorer

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return AdamW over the policy and, apart, its value head."""
        return adamw(self.scorer.policy, self.hparams)

    def on_fit_start(self) -> None:
        """Move the reference to the policy's device and precision; Lightning does not see it."""
        if self.scorer.reference is not None:
            self.scorer.reference.follow(self.scorer.policy)

    def training_step(self, batch: RolloutBatch, batch_idx: int) -> None:
        """Train on one rollout.

        Args:
            batch: one rollout by the present policy.
            batch_idx: not used; see `update_step`.
        """
        started = time.perf_counter()
        staleness = check_version(batch, self.update_step, self.hparams["max_staleness"])
        self.in_update = True
        optimizer = self.optimizers()
        assert isinstance(optimizer, LightningOptimizer)
        share = learning_rate_share(self.trainer, self.hparams, self.update_step)
        scale_learning_rates(optimizer, share * self.controls.lr_scale)
        loss, stage = self.controls.objective(self.loss, self.batch_advantage)
        self._scorer = replace(self.scorer, loss=loss, stage=stage)
        steps = self.mini_batches(batch, loss.keep_together_in_mini_batch, self.update_step)
        log = UpdateLog(
            epoch_steps=len(steps) // self.mini_batches.epochs,
            clip_range=loss.surrogate.clip_range,
        )
        scored = self.scorer.score(batch, unchanged=len(steps) == 1)
        log.extra = {"staleness": float(staleness), **self.scorer.facts(scored)}
        for rows in steps:
            self._step(optimizer, scored.select(rows), log)
        self.update_step += 1
        self.in_update = False
        self.last_update = log
        if self.adaptive_kl is not None:
            tokens = int(batch.action_mask.sum())
            now = configured_kl(loss, stage)
            self.controls.kl_coef = self.adaptive_kl(now, log.values["ref_kl"], tokens)
        self._log_update(log, optimizer, time.perf_counter() - started)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Store the counters that belong to the weights."""
        checkpoint["sampo"] = {
            "update_step": self.update_step,
            "skipped_in_a_row": self.skipped.in_a_row,
            "controls": self.controls.state_dict(),
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore them; a value head that this objective has no use for is left out."""
        state = checkpoint["sampo"]
        self.update_step = state["update_step"]
        self.skipped.in_a_row = state["skipped_in_a_row"]
        self.controls.load_state_dict(state["controls"])
        if self.loss.value is None:
            weights = checkpoint["state_dict"]
            for key in [key for key in weights if key.startswith("policy.value_head.")]:
                del weights[key]

    def _step(self, optimizer: LightningOptimizer, scored: ScoredBatch, log: UpdateLog) -> None:
        """Take one optimiser step on a mini-batch."""
        scored = self.scorer.plan(scored)
        total = 0.0
        optimizer.zero_grad()
        log.start_step()
        for rows in self.scorer.micro_batches(scored.batch):
            part = self.scorer.loss_inputs(scored.select(rows), unchanged=log.first_step)
            output = self.scorer.loss(part)
            self.manual_backward(output.loss)
            log.add(output)
            total += float(output.loss.detach())
        parameters = self.scorer.policy.parameters()
        norm = torch.nn.utils.clip_grad_norm_(parameters, self.hparams["max_grad_norm"])
        log.norms.append(float(norm))
        if math.isfinite(total) and bool(torch.isfinite(norm)):
            optimizer.step()
            self.skipped.taken()
        else:
            optimizer.zero_grad()
            log.skipped += 1
            folder = Path(self.trainer.log_dir or self.trainer.default_root_dir) / "skipped"
            self.skipped.skip(scored.batch, self.update_step, folder)

    def _log_update(self, log: UpdateLog, optimizer: LightningOptimizer, seconds: float) -> None:
        values = {f"train/{name}": value for name, value in log.values.items()} | {
            "train/learning_rate": optimizer.param_groups[0]["lr"],
            "train/kl_coef": configured_kl(self.scorer.loss, self.scorer.stage),
            "time/update_s": seconds,
        }
        cells = {name: values.pop(name) for name in list(values) if name.startswith("train/cells")}
        self.log("step", float(self.update_step))
        self.log_dict(values)
        # Straight to the loggers: Lightning's book-keeping would cost 2 ms for each of these.
        every: int = self.trainer.log_every_n_steps  # pyright: ignore[reportAttributeAccessIssue]
        if self.update_step % every == 0:
            for logger in self.loggers:
                logger.log_metrics(cells, step=self.update_step)
