"""Modules sharded by FSDP's first version, and whole weights out of and into them.

`FullyShardedDataParallel` puts itself around a module, lays the weights of it in one flat tensor,
and leaves each rank a piece of that. Here are the things that a trainer needs to do with such a
module which are not training: to name its weights as they were named before, to see them whole one
unit at a time, and to put whole ones back.

Works on any device, the CPU included, as long as FSDP is told which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.distributed.fsdp import (
    FullyShardedDataParallel,
    MixedPrecision,
    ShardingStrategy,
)

from sampo.errors import ConfigError

_WRAPPED = "_fsdp_wrapped_module."
"""What FSDP adds to the names of all it wraps."""


@dataclass(frozen=True)
class _Before:
    """What a module was before it was sharded."""

    shapes: dict[str, torch.Size]
    """Of its parameters, each under its first name."""
    entries: dict[str, str]
    """Of each entry of its state dict that is a parameter, the parameter's first name."""
    saved: frozenset[str]
    """Entries that it writes into a checkpoint: with adapters not all."""
    num_bytes: int


_BEFORE: WeakKeyDictionary[nn.Module, _Before] = WeakKeyDictionary()


def shard_flat(
    module: nn.Module,
    units: Iterable[nn.Module],
    *,
    device: torch.device,
    keep_gathered: bool,
    mixed: Callable[[nn.Module], bool],
) -> FullyShardedDataParallel:
    """Wrap parts of a module, in place, and the module itself; return the wrapped module.

    Args:
        module: the same on all ranks.
        units: modules in it that are gathered by themselves.
        device: of this rank.
        keep_gathered: between forward and backward pass, too.
        mixed: whether a unit, or the module, computes in bfloat16. Weights stay as they are, and
            gradients are added up in float32.

    Raises:
        ConfigError: a unit has weights of several dtypes, which do not fit into one flat tensor.
    """
    before = _before(module)

    def wrapped(unit: nn.Module) -> FullyShardedDataParallel:
        dtypes = {parameter.dtype for parameter in _unwrapped_parameters(unit)}
        if len(dtypes) > 1:
            raise ConfigError(
                f"FSDP's first version cannot shard {type(unit).__name__}, whose weights are of "
                f"several types ({', '.join(sorted(map(str, dtypes)))}). Take trainer.strategy "
                "fsdp2, or model.dtype float32."
            )
        half = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        whole, kept = ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP
        return FullyShardedDataParallel(
            unit,
            sharding_strategy=kept if keep_gathered else whole,
            mixed_precision=half if mixed(unit) else None,
            device_id=device,
            use_orig_params=True,  # so that some may be frozen, and the optimiser sees names
        )

    places = {id(part): name for name, part in module.named_modules()}
    for unit in units:
        parent, _, name = places[id(unit)].rpartition(".")
        setattr(module.get_submodule(parent), name, wrapped(unit))
    root = wrapped(module)
    _BEFORE[root] = before
    return root


def is_flat(module: nn.Module) -> bool:
    """Return whether `shard_flat` made this module."""
    return module in _BEFORE


def flat_roots(module: nn.Module) -> dict[str, FullyShardedDataParallel]:
    """Return the modules in a module that `shard_flat` made, by their names in it."""
    return {
        clean(name): part
        for name, part in module.named_modules()
        if isinstance(part, FullyShardedDataParallel) and is_flat(part)
    }


def clean(name: str) -> str:
    """Return a module's or parameter's name as it was before it was sharded."""
    return f"{name}.".replace(_WRAPPED, "").removesuffix(".")


def whole_bytes(root: nn.Module) -> int:
    """Return how much memory all weights take."""
    return _BEFORE[root].num_bytes


def whole_shapes(root: nn.Module) -> dict[str, torch.Size]:
    """Return the shapes of what a checkpoint of it holds, by name."""
    before = _BEFORE[root]
    return {k: before.shapes[n] for k, n in before.entries.items() if k in before.saved}


def units_of(root: nn.Module, **options: Any) -> Iterator[dict[str, nn.Parameter]]:
    """Gather one unit after the other and yield its parameters by their first names. Collective.

    Parameters are whole until the next unit is asked for. Every rank has to take all units.

    Args:
        root: what `shard_flat` returned.
        options: of `FullyShardedDataParallel.summon_full_params`.
    """
    places = {id(part): clean(name) for name, part in root.named_modules()}
    for unit in FullyShardedDataParallel.fsdp_modules(root):  # the root first: it sets up the rest
        with FullyShardedDataParallel.summon_full_params(unit, recurse=False, **options):
            inside = {
                id(parameter)
                for part in FullyShardedDataParallel.fsdp_modules(unit)
                if part is not unit
                for parameter in part.parameters()
            }
            prefix = places[id(unit)]
            yield {
                f"{prefix}.{clean(name)}".lstrip("."): parameter
                for name, parameter in unit.named_parameters()
                if id(parameter) not in inside
            }


def whole_state(root: nn.Module, *, saved: bool = False) -> Iterator[tuple[str, Tensor]]:
    """Yield the entries of its state dict, whole; what comes next overwrites them. Collective.

    Args:
        root: what `shard_flat` returned.
        saved: leave out what does not belong into a checkpoint.
    """
    before = _BEFORE[root]
    keys: dict[str, list[str]] = {}
    for key, name in before.entries.items():
        if not saved or key in before.saved:
            keys.setdefault(name, []).append(key)
    for unit in units_of(root, writeback=False):
        for name, parameter in unit.items():
            for key in keys.get(name, ()):
                yield key, parameter.detach()
    buffers = {clean(name): buffer for name, buffer in root.named_buffers()}
    for key in before.saved - before.entries.keys():
        yield key, buffers[key]


@torch.no_grad()
def put_whole(root: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Take weights out of a whole state dict; those that it lacks stay. Collective."""
    entries = _BEFORE[root].entries
    values = {entries[key]: value for key, value in state.items() if key in entries}
    for unit in units_of(root, writeback=True):
        for name, parameter in unit.items():
            if name in values:
                parameter.copy_(values[name])
    for name, buffer in root.named_buffers():
        if clean(name) in state:
            buffer.copy_(state[clean(name)])


def _before(module: nn.Module) -> _Before:
    shapes = {name: parameter.shape for name, parameter in module.named_parameters()}
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    entries = {
        key: names[id(value)]
        for part, child in module.named_children()  # its own hooks may leave some out
        for key, value in child.state_dict(prefix=f"{part}.", keep_vars=True).items()
        if id(value) in names
    }
    sizes = [parameter.numel() * parameter.element_size() for parameter in module.parameters()]
    return _Before(shapes, entries, frozenset(module.state_dict()), sum(sizes))


def _unwrapped_parameters(module: nn.Module) -> Iterator[nn.Parameter]:
    """Yield those of no unit inside."""
    if isinstance(module, FullyShardedDataParallel):
        return
    yield from module.parameters(recurse=False)
    for child in module.children():
        yield from _unwrapped_parameters(child)
