"""Whole weights out of a policy that may be sharded, for what samples or leaves the trainer.

They are gathered parameter by parameter (layer by layer under FSDP's first version), so a device
never holds more than that beside its shards and what it is collecting.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

from sampo.flat_shards import is_flat, units_of, whole_bytes, whole_state
from sampo.models.policy import Policy
from sampo.models.sharding import blank_of, compute_device


def num_bytes(policy: Policy) -> int:
    """Return how much memory the whole weights of a policy take."""
    if is_flat(policy):
        return whole_bytes(policy)
    return sum(p.numel() * p.element_size() for p in policy.parameters())


def whole(tensor: Tensor) -> Tensor:
    """Return a tensor that may be sharded as a whole one, without gradient. Collective if it is."""
    tensor = tensor.detach()
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def whole_parameters(policy: Policy) -> Iterator[tuple[str, Tensor]]:
    """Yield name and whole value of each parameter, one after the other. Collective if sharded.

    What comes next may overwrite a value.
    """
    if is_flat(policy):
        for unit in units_of(policy, writeback=False):
            yield from ((name, parameter.detach()) for name, parameter in unit.items())
        return
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
    for name, full in _whole_entries(policy):
        if keep:
            state[f"model.{name}"] = full.to("cpu", copy=is_flat(policy))
    return state


def _whole_entries(policy: Policy) -> Iterator[tuple[str, Tensor]]:
    """Yield the model's state dict entry by entry, each whole until the next one is asked for."""
    if is_flat(policy):
        for key, tensor in whole_state(policy):
            if key.startswith("model."):
                yield key.removeprefix("model."), tensor
        return
    for name, tensor in policy.model.state_dict().items():
        yield name, whole(tensor)


def state_pieces(policy: Policy) -> Iterator[dict[str, Tensor]]:
    """Yield a sharded model's state dict in parts: a layer each, every other tensor by itself.

    Collective: all ranks have to take all parts.
    """
    if is_flat(policy):
        for unit in units_of(policy, writeback=False):
            inner = {n.removeprefix("model."): p for n, p in unit.items() if n.startswith("model.")}
            yield {name: parameter.detach() for name, parameter in inner.items()}
        return
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
        self.policy = blank_of(policy)
        self.policy.requires_grad_(requires_grad=False)

    @torch.no_grad()
    def take(self, policy: Policy) -> None:
        """Take the present weights, parameter by parameter. Collective if they are sharded."""
        device = compute_device(policy)
        self.policy.to(device)
        own = dict(self.policy.named_parameters())
        for name, theirs in whole_parameters(policy):
            mine = own[name]
            if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
                mine.data = torch.empty_like(theirs, device=device)
            mine.copy_(theirs)

    def give_back(self) -> None:
        """Free the memory of the weights until the next `take`."""
        for parameter in self.policy.parameters():
            parameter.data = parameter.new_empty(0)
