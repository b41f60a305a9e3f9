"""A policy whose weights are spread over the devices of a run (FSDP2), and whole ones made of it.

`fully_shard` of torch does the work: each transformer layer is gathered when it is computed and
given back afterwards, on all ranks at the same time. What samples or leaves the trainer needs whole
weights; they are gathered parameter by parameter, so a device never holds more than one of them
beside its shards and what it is collecting.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import lightning as L
import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor

from sampo.errors import ConfigError, PolicyError
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
    _BLANKS[policy] = _blank(policy)
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


def shard_as_told(module: L.LightningModule, policy: Policy, sharding: Sharding) -> None:
    """Shard a policy if the strategy of a module's trainer does; call it in `configure_model`."""
    if module.device_mesh is not None:
        shard(policy, module.device_mesh, sharding, str(module.trainer.precision))


def keep_offloaded(policy: Policy, sharding: Sharding) -> None:
    """Take an offloaded policy back to the host: Lightning moves it before it makes optimisers."""
    if sharding.cpu_offload and is_sharded(policy):
        policy.cpu()


def is_sharded(policy: nn.Module) -> bool:
    """Return whether `shard` was here."""
    return isinstance(policy, FSDPModule)


def whole(tensor: Tensor) -> Tensor:
    """Return a tensor that may be sharded as a whole one, without gradient. Collective if it is."""
    tensor = tensor.detach()
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def whole_parameters(policy: Policy) -> Iterator[tuple[str, Tensor]]:
    """Yield name and whole value of each parameter, one after the other. Collective if sharded."""
    for name, parameter in policy.named_parameters():
        yield name, whole(parameter)


def gathered_state(policy: Policy, *, keep: bool) -> dict[str, Tensor]:
    """Return the model's whole state dict in host memory, its names with `model.` before them.

    Collective if sharded.

    Args:
        policy: sharded or not.
        keep: whether this rank wants it; the others get an empty one.
    """
    state: dict[str, Tensor] = {}
    for name, tensor in policy.model.state_dict().items():
        full = whole(tensor)
        if keep:
            state[f"model.{name}"] = full.cpu()
    return state


def state_pieces(policy: Policy) -> Iterator[dict[str, Tensor]]:
    """Yield a sharded model's state dict in parts: a layer each, every other tensor by itself.

    Collective: all ranks have to take all parts.
    """
    places = [n for n, module in policy.model.named_modules() if isinstance(module, FSDPModule)]
    parts: dict[str, dict[str, Tensor]] = {}
    for name, tensor in policy.model.state_dict().items():
        owner = next((place for place in places if name.startswith(f"{place}.")), name)
        parts.setdefault(owner, {})[name] = tensor
    for part in parts.values():
        yield {name: whole(tensor) for name, tensor in part.items()}


class WholeCopy:
    """An unsharded policy that takes the weights of another one when it is told to.

    Args:
        policy: sharded or not. Its structure is copied now; weights come with `take`.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = deepcopy(_BLANKS[policy]) if policy in _BLANKS else _blank(policy)
        self.policy.requires_grad_(requires_grad=False)

    @torch.no_grad()
    def take(self, policy: Policy) -> None:
        """Take the present weights, parameter by parameter. Collective if they are sharded."""
        device = compute_device(policy)
        self.policy.to(device)
        pairs = zip(self.policy.parameters(), whole_parameters(policy), strict=True)
        for mine, (_, theirs) in pairs:
            if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
                mine.data = torch.empty_like(theirs, device=device)
            mine.copy_(theirs)

    def give_back(self) -> None:
        """Free the memory of the weights until the next `take`."""
        for parameter in self.policy.parameters():
            parameter.data = parameter.new_empty(0)


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


def _blank(policy: Policy) -> Policy:
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
