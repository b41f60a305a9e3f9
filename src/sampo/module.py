"""SAMPO's LightningModule: the policy, its reference, and the update; no environment, no engine.

One training batch is one rollout: scored once, then one optimiser step per mini-batch (manually).
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import torch
from lightning.pytorch.core.optimizer import LightningOptimizer
from torch import Tensor

from sampo.accumulation import accumulate, clip_gradients
from sampo.advantages import BatchAdvantage
from sampo.batch import RolloutBatch, ScoredBatch
from sampo.controls import Controls, check_objective, configured_kl
from sampo.evaluation import EvaluatedModule
from sampo.losses import AdaptiveKL, PolicyLoss
from sampo.mini_batches import MiniBatches
from sampo.models.lora import LoRA, check_same_adapters
from sampo.models.making import make_policies, make_ready
from sampo.models.packing import Packing
from sampo.models.policy import Policy
from sampo.models.sharding import Sharding, keep_offloaded
from sampo.models.value_head import drop_value_head
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
        batch_advantage: second stage of dial 3, over the rollout; None: the groups' are final.
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
        micro_batch_tokens: most tokens, padding included, of one pass; changes no gradient.
        old_logprobs: `recompute` in one more pass, or the engine's, its error then in the ratio.
        max_staleness: updates that a rollout's policy may be behind; linked to the data's.
        temperature: of training samples; linked to the rollout's, so that scores are comparable.
        max_new_tokens: of a reply; linked to the rollout's; some aggregations divide by it.
        reference: whether to keep a frozen copy of the initial policy for the KL term.
        dtype: of the weights.
        attn_implementation: attention of transformers; None is its default.
        gradient_checkpointing: recompute activations in the backward pass, to save memory.
        compile: run the layers through torch.compile; the first pass then takes a minute or more.
        packing: whether rows stand one behind the other in a pass, instead of padded; `auto`: on
            CUDA, in half precision. A start-up test decides in the end; see docs/scaling.md.
        lora: train adapters instead of the weights; the reference is then the policy without them.
        sharding: how weights are spread over devices under FSDP2; see docs/scaling-out.md.
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
        compile: bool = False,  # noqa: A002  what torch calls it
        packing: Packing = "auto",
        lora: LoRA | None = None,
        sharding: Sharding = Sharding(),  # noqa: B008  frozen
        max_skipped_steps: int = 3,
    ) -> None:
        super().__init__()
        self.mini_batches = MiniBatches(
            number=num_mini_batches, rows=mini_batch_rows, epochs=epochs, shuffle=shuffle
        )
        check_objective(loss, batch_advantage, adaptive_kl, reference=reference)
        loss = corrected(loss, old_logprobs, stale=max_staleness > 0)
        self.automatic_optimization = False
        self.save_hyperparameters(
            ignore=["loss", "batch_advantage", "adaptive_kl", "lora", "sharding"]
        )
        self.hparams["lora"] = None if lora is None else asdict(lora)
        check_numbers(self.hparams)
        self.loss = loss if max_new_tokens is None else loss.with_reply_limit(max_new_tokens)
        self.batch_advantage = batch_advantage
        self.adaptive_kl = adaptive_kl
        self.sharding = sharding
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
        options, valued = self.hparams, self.loss.value is not None
        self.policy, reference = make_policies(self, self.sharding, value_head=valued)
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
        keep_offloaded(self.scorer.policy, self.sharding)
        return adamw(self.scorer.policy, self.hparams)

    def on_fit_start(self) -> None:
        """Let the reference follow the policy, which Lightning has moved; pack rows or pad them."""
        make_ready(self, self.scorer.policy, self.scorer.reference, self.world)

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
        self._scorer = replace(self.scorer, loss=loss, stage=stage, world=self.world)
        steps = self.mini_batches(batch, loss.keep_together_in_mini_batch, self.update_step)
        log = UpdateLog(
            epoch_steps=len(steps) // self.mini_batches.epochs,
            clip_range=loss.surrogate.clip_range,
        )
        scored = self.scorer.score(batch, unchanged=len(steps) == 1)
        log.extra = {"staleness": float(staleness), **self.scorer.facts(scored)}
        for rows in steps:
            self._step(optimizer, scored.select(rows), log)
        log.exchange(self.world)
        self.update_step += 1
        self.last_update, self.in_update = log, False
        if self.adaptive_kl is not None:
            tokens = int(batch.action_mask.sum())
            now = configured_kl(loss, stage)
            self.controls.kl_coef = self.adaptive_kl(now, log.values["ref_kl"], tokens)
        log.report(
            self,
            self.update_step,
            learning_rate=optimizer.param_groups[0]["lr"],
            kl_coef=configured_kl(loss, stage),
            seconds=time.perf_counter() - started,
        )

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Store the counters that belong to the weights."""
        checkpoint["sampo"] = {
            "update_step": self.update_step,
            "skipped_in_a_row": self.skipped.in_a_row,
            "controls": self.controls.state_dict(),
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore them; a value head that this objective has no use for is left out."""
        check_same_adapters(checkpoint["hyper_parameters"], self.hparams)
        state = checkpoint["sampo"]
        self.update_step = state["update_step"]
        self.skipped.in_a_row = state["skipped_in_a_row"]
        self.controls.load_state_dict(state["controls"])
        if self.loss.value is None:
            drop_value_head(checkpoint.get("state_dict", {}))  # sharded ones are loaded already

    def _step(self, optimizer: LightningOptimizer, scored: ScoredBatch, log: UpdateLog) -> None:
        """Take one optimiser step on a mini-batch."""
        scored = self.scorer.plan(scored)
        losses: list[float] = []
        optimizer.zero_grad()
        log.start_step()

        def loss(rows: Tensor | None) -> Tensor:
            if rows is None:
                return self.scorer.no_loss(scored.batch)
            part = self.scorer.loss_inputs(scored.select(rows), unchanged=log.first_step)
            output = self.scorer.loss(part)
            log.add(output)
            losses.append(float(output.loss.detach()))
            return output.loss

        accumulate(self, self.scorer.passes(scored.batch), loss, self.world)
        norm = clip_gradients(self.scorer.policy, self.hparams["max_grad_norm"])
        log.norms.append(float(norm))
        total = sum(self.world.gather(lambda: sum(losses)))
        if math.isfinite(total) and bool(torch.isfinite(norm)):
            optimizer.step()
            self.skipped.taken()
        else:
            optimizer.zero_grad()
            log.skipped += 1
            folder = Path(self.trainer.log_dir or self.trainer.default_root_dir) / "skipped"
            self.skipped.skip(scored.batch, self.update_step, folder, write=self.world.rank == 0)
