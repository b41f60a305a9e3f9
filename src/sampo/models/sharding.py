"""A policy whose weights are spread over the devices of a run.

`fully_shard` of torch (FSDP2) does the work, or its first version (`flat_shards`): each transformer
layer is gathered when it is computed and given back afterwards, on all ranks at the same time.
Whole weights, for what samples or leaves the trainer: `whole_weights`.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary, WeakSet

import lightning as L
import torch
from lightning.pytorch.strategies import FSDPStrategy
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor

from sampo.errors import ConfigError, PolicyError
from sampo.flat_shards import is_flat, shard_flat
from sampo.models.policy import Policy

_BLANKS: WeakKeyDictionary[Policy, Policy] = WeakKeyDictionary()
"""Of each sharded policy, what it was before, without weights: sharded modules cannot be copied."""
_MIXED: WeakSet[Policy] = WeakSet()
"""Sharded policies that compute in bfloat16 and keep float32."""


@dataclass(frozen=True, kw_only=True)
class Sharding:
    """How a policy is sharded, under Lightning's `ModelParallelStrategy`."""

    cpu_offload: bool = False
    """Keep weights, gradients and optimiser state in host memory, and compute on the device."""
    reshard_after_forward: bool = True
    """Give gathered layers back between forward and backward pass; false keeps them, which takes
    the memory of the whole model and saves one gathering."""


def shard(policy: Policy, mesh: DeviceMesh, sharding: Sharding, precision: str) -> None:
    """Shard a policy in place: each transformer layer by itself, and the rest together.

    Args:
        policy: not yet on a device.
        mesh: Lightning's, of all ranks.
        sharding: see `Sharding`.
        precision: of the trainer. With `bf16-mixed` weights stay in float32 and are gathered and
            computed with in bfloat16; gradients are reduced in float32.

    Raises:
        ConfigError: the mesh asks for tensor parallelism.
        PolicyError: it is not known which of the model's modules are its layers.
    """
    tensor_parallel = mesh["tensor_parallel"].size()
    if tensor_parallel > 1:
        raise ConfigError(
            f"tensor_parallel_size of the strategy is {tensor_parallel}; sampo shards over ranks "
            "that each have rows of their own. Set it to 1, and data_parallel_size to the number "
            "of devices."
        )
    _BLANKS[policy] = _without_weights(policy)
    options: dict[str, Any] = {
        "mesh": mesh["data_parallel"],
        "reshard_after_forward": sharding.reshard_after_forward,
    }
    if precision == "bf16-mixed":
        _MIXED.add(policy)
        options["mp_policy"] = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32
        )
    if sharding.cpu_offload:
        pinned = torch.cuda.is_available()
        options["offload_policy"] = CPUOffloadPolicy(pin_memory=pinned)
    for layer in transformer_layers(policy):
        fully_shard(layer, **options)
    if policy.value_head is not None:  # computes in float32, whatever the rest does
        fully_shard(policy.value_head, **{**options, "mp_policy": MixedPrecisionPolicy()})
    fully_shard(policy, **options)


def shard_as_told(module: L.LightningModule, policy: Policy, sharding: Sharding) -> Policy:
    """Shard a policy if the strategy of a module's trainer does; call it in `configure_model`.

    Returns:
        What stands for the policy from then on.
    """
    trainer: L.Trainer | None = getattr(module, "_trainer", None)  # `trainer` insists on one
    if trainer is None:
        return policy
    if module.device_mesh is not None:
        shard(policy, module.device_mesh, sharding, str(trainer.precision))
    elif isinstance(trainer.strategy, FSDPStrategy):
        device = trainer.strategy.root_device
        return _shard_flat(policy, device, sharding, str(trainer.precision))
    return policy


def _shard_flat(policy: Policy, device: torch.device, sharding: Sharding, precision: str) -> Policy:
    """Shard a policy by FSDP's first version, which wraps it; arguments as `shard`."""
    if sharding.cpu_offload:
        raise ConfigError(
            "model.sharding.cpu_offload works under trainer.strategy fsdp2, not under FSDP's first "
            "version."
        )
    blank, layers, head = _without_weights(policy), transformer_layers(policy), policy.value_head
    mixed = precision == "bf16-mixed"
    root = shard_flat(
        policy,
        layers if head is None else [*layers, head],
        device=device,
        keep_gathered=not sharding.reshard_after_forward,
        mixed=lambda unit: mixed and unit is not head,
    )
    wrapped = cast(Policy, root)  # which hands on what it is asked for
    _BLANKS[wrapped] = blank
    if mixed:
        _MIXED.add(wrapped)
    return wrapped


def keep_offloaded(policy: Policy, sharding: Sharding) -> None:
    """Take an offloaded policy back to the host: Lightning moves it before it makes optimisers."""
    if sharding.cpu_offload and is_sharded(policy):
        policy.cpu()


def is_sharded(policy: nn.Module) -> bool:
    """Return whether `shard_as_told` did it."""
    return isinstance(policy, FSDPModule) or is_flat(policy)


def plain(policy: Policy) -> Policy:
    """Return a policy of the same structure and names: itself, or if it was wrapped, a blank."""
    return _BLANKS[policy] if is_flat(policy) else policy


def compute_dtype(policy: Policy) -> torch.dtype:
    """Return what a forward pass computes in, outside of any autocast."""
    return torch.bfloat16 if policy in _MIXED else policy.model.dtype


def compute_device(policy: Policy) -> torch.device:
    """Return where a policy's tokens have to be, wherever its weights are kept."""
    weight = policy.head_weight
    kind = weight.device_mesh.device_type if isinstance(weight, DTensor) else weight.device.type
    if kind == "cuda" and weight.device.type != "cuda":  # offloaded
        return torch.device(kind, torch.cuda.current_device())
    return weight.device


def blank_of(policy: Policy) -> Policy:
    """Return a new unsharded policy of the same structure, without weights."""
    return deepcopy(_BLANKS[policy]) if policy in _BLANKS else _without_weights(policy)


def _without_weights(policy: Policy) -> Policy:
    """Return a copy without weights; buffers are copied."""
    empty = {
        id(p): nn.Parameter(p.detach().new_empty(0), requires_grad=p.requires_grad)
        for p in policy.parameters()
    }
    return deepcopy(policy, memo=empty)


def transformer_layers(policy: Policy) -> list[nn.Module]:
    """Return the transformer layers, as the model's class names them."""
    names = set(policy.model._no_split_modules or ())
    # By all its classes: sharding puts one of its own in front.
    layers = [m for m in policy.modules() if names & {c.__name__ for c in type(m).__mro__}]
    if not layers:
        raise PolicyError(
            f"{type(policy.model).__name__} does not say which modules are its layers "
            "(_no_split_modules), so it cannot be sharded. Take trainer.strategy ddp."
        )
    return layers
