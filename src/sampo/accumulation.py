"""One optimiser step's gradient, added up over micro-batches and ranks, and its norm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import lightning as L
import torch
from lightning.pytorch.strategies import ParallelStrategy
from torch import Tensor, nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.tensor import DTensor

from sampo.world import World


def accumulate(
    module: L.LightningModule,
    passes: Sequence[Tensor | None],
    loss: Callable[[Tensor | None], Tensor],
    world: World,
) -> None:
    """Run this rank's backward passes, so that each parameter's gradient is that of all ranks.

    Args:
        module: whose trainer exchanges gradients: replicated ones after the last pass, sharded ones
            after each, because whole ones of a large model would fit on no device.
        passes: what each pass is over; as many on every rank.
        loss: returns a pass's share of the loss, which is the sum over all passes of all ranks.
        world: the ranks. Strategies average gradients over them, the loss is a sum.
    """
    strategy = module.trainer.strategy
    for number, rows in enumerate(passes, start=1):
        exchange_later: AbstractContextManager[None] = nullcontext()
        if isinstance(strategy, ParallelStrategy) and number < len(passes):
            exchange_later = strategy.block_backward_sync()
        with exchange_later:
            module.manual_backward(loss(rows) * world.size)


def clip_gradients(policy: nn.Module, max_norm: float) -> Tensor:
    """Scale gradients down to a norm; return what it was, of whole gradients, not of a shard."""
    if isinstance(policy, FullyShardedDataParallel):
        return policy.clip_grad_norm_(max_norm)
    norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), max_norm)
    return norm.full_tensor() if isinstance(norm, DTensor) else norm
