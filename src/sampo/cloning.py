"""Behaviour cloning: the policy learns to write what demonstrators wrote.

The start of reinforcement learning: rows, masks and context policy are those of the rollout, so the
clone has seen exactly the prompts that it will be asked to answer. Where the demonstrations come
from is the DataModule's business.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from lightning.pytorch.core.optimizer import LightningOptimizer
from torch import Tensor

from sampo.accumulation import accumulate, clip_gradients
from sampo.batch import RolloutBatch
from sampo.errors import ConfigError, NonFiniteError
from sampo.evaluation import EvaluatedModule
from sampo.micro_batches import deal, idle
from sampo.models.policy import Policy
from sampo.models.sharding import Sharding, keep_offloaded, shard_as_told
from sampo.optimizers import fused
from sampo.schedules import lr_factor


class CloningModule(EvaluatedModule):
    """A policy under behaviour cloning.

    With `M` the action tokens of the batch (demonstrated replies with their end-of-turn token;
    prompts and observations are no part of it) and `c_t` what precedes token `t` in its row,

        L(theta) = - 1/|M| sum_{t in M} log pi_theta(t | c_t)

    at temperature 1. The mean is over the tokens of the whole batch, so `micro_batch_tokens`
    changes memory and speed but not the gradient. Optimised by AdamW, one step per batch, under a
    cosine schedule with linear warm-up.

    Defaults are the paper's (ARLArena, https://arxiv.org/abs/2602.21534; its released scripts) for
    models of some billion parameters; tiny models want a learning rate around 1e-3.

    Args:
        policy: what is trained: a Hugging Face folder or hub id, or the name of a shipped policy.
        learning_rate: of AdamW, at its highest.
        weight_decay: of AdamW.
        betas: of AdamW.
        max_grad_norm: gradients are scaled down to this norm.
        warmup_fraction: share of all steps in which the learning rate rises.
        micro_batch_tokens: most tokens (padding included) of one forward and backward pass.
        dtype: of the weights.
        attn_implementation: attention of transformers; None is its default.
        gradient_checkpointing: recompute activations in the backward pass, to save memory.
        sharding: how weights are spread over devices under FSDP2; see docs/scaling-out.md.
    """

    def __init__(
        self,
        policy: str,
        learning_rate: float = 1e-5,
        weight_decay: float = 0.01,
        betas: tuple[float, float] = (0.9, 0.95),
        max_grad_norm: float = 1.0,
        warmup_fraction: float = 0.1,
        micro_batch_tokens: int = 16384,
        dtype: Literal["float32", "bfloat16", "float16"] = "float32",
        attn_implementation: str | None = None,
        gradient_checkpointing: bool = False,
        sharding: Sharding = Sharding(),  # noqa: B008  frozen
    ) -> None:
        super().__init__()
        if not 0 <= warmup_fraction < 1:
            raise ConfigError(f"model.warmup_fraction must be in [0, 1), got {warmup_fraction}.")
        self.automatic_optimization = False
        self.save_hyperparameters(ignore=["sharding"])
        self.sharding = sharding
        self.policy: Policy | None = None

    def configure_model(self) -> None:
        """Load the policy."""
        if self.policy is not None:
            return
        options = self.hparams
        policy = Policy.load(
            options["policy"],
            dtype=options["dtype"],
            attn_implementation=options["attn_implementation"],
            gradient_checkpointing=options["gradient_checkpointing"],
        )
        self.policy = shard_as_told(self, policy, self.sharding)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return AdamW over the policy."""
        assert self.policy is not None
        keep_offloaded(self.policy, self.sharding)
        return torch.optim.AdamW(
            self.policy.parameters(),
            lr=self.hparams["learning_rate"],
            betas=tuple(self.hparams["betas"]),
            weight_decay=self.hparams["weight_decay"],
            fused=fused(self.policy),
        )

    def training_step(self, batch: RolloutBatch, batch_idx: int) -> None:
        """Take one optimiser step on a batch of demonstrations."""
        assert self.policy is not None
        optimizer = self.optimizers()
        assert isinstance(optimizer, LightningOptimizer)
        rate = self.hparams["learning_rate"] * self._lr_factor()
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        nll = self._accumulate(batch)
        norm = clip_gradients(self.policy, self.hparams["max_grad_norm"])
        if not (math.isfinite(nll) and bool(torch.isfinite(norm))):
            raise NonFiniteError(
                f"Loss ({nll}) or gradient norm ({float(norm)}) of cloning step "
                f"{self.update_step} is not finite. Lower model.learning_rate, or use "
                "model.dtype=float32."
            )
        optimizer.step()
        self.update_step += 1
        self.log("step", float(self.update_step))
        self.log_dict(
            {
                "train/nll": nll,
                "train/grad_norm": norm,
                "train/learning_rate": rate,
                "train/action_tokens": batch.action_mask.sum().float(),
            }
        )

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Store the counter that belongs to the weights."""
        checkpoint["sampo"] = {"update_step": self.update_step}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore it."""
        self.update_step = checkpoint["sampo"]["update_step"]

    def _accumulate(self, batch: RolloutBatch) -> float:
        """Add up the gradient of the loss over micro-batches and ranks; return the loss."""
        num_tokens = batch.action_mask.sum()
        budget, world = self.hparams["micro_batch_tokens"], self.world
        values: list[float] = []

        def loss(rows: Tensor | None) -> Tensor:
            assert self.policy is not None
            part = idle(batch) if rows is None else batch.select(rows)
            scores = self.policy(part.token_ids, part.lengths, part.action_mask, with_entropy=False)
            share = -scores.logprobs.sum() / num_tokens
            values.append(float(share.detach()))
            return share

        dealt = deal(batch.lengths, batch.units("turn"), budget, world.size)
        accumulate(self, dealt[world.rank], loss, world)
        return sum(world.gather(lambda: sum(values)))

    def _lr_factor(self) -> float:
        """Return the learning rate's share of its full value at the present step."""
        steps = self.trainer.estimated_stepping_batches
        if math.isinf(steps):
            raise ConfigError("Cloning needs an end: set trainer.max_epochs or trainer.max_steps.")
        warmup = math.ceil(self.hparams["warmup_fraction"] * steps)
        return lr_factor("cosine", self.update_step, int(steps), warmup)
