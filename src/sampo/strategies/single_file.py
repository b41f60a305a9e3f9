"""What single-file checkpoints hold, whichever strategy wrote them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.strategies import Strategy
from torch import Tensor, nn

TIMEOUT = timedelta(minutes=10)
"""Longest wait for another rank within an update, unless a config says otherwise."""


def open_checkpoint(
    strategy: Strategy, path: str | Path, *, weights_only: bool | None
) -> dict[str, Any]:
    """Return what a file holds, read as it is used; rank 0 says which file. Collective."""
    path = strategy.broadcast(str(path))
    return torch.load(path, mmap=True, map_location="cpu", weights_only=weights_only)


def check_fit(saved: Mapping[str, Tensor], present: Mapping[str, torch.Size]) -> None:
    """Compare names and shapes; a value head that is not there any more may be saved."""
    problems = [f"Missing key: {name}" for name in present if name not in saved]
    for name, tensor in saved.items():
        if name not in present and "value_head." not in name:
            problems.append(f"Unexpected key: {name}")
        elif name in present and tensor.shape != present[name]:
            shapes = f"{tuple(tensor.shape)}, not {tuple(present[name])}"
            problems.append(f"size mismatch for {name}: {shapes}")
    if problems:
        raise RuntimeError("\n".join(["Error(s) in loading state_dict:", *problems]))


def trained_names(model: nn.Module) -> list[str]:
    """Return the names of the parameters that are trained, in the order of the model."""
    return [name for name, parameter in model.named_parameters() if parameter.requires_grad]


def numbered(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return an optimiser's state with numbers for names, in the order of its groups.

    Args:
        state: of an optimiser, with names.
    """
    names = [name for group in state["param_groups"] for name in group["params"]]
    numbers = {name: number for number, name in enumerate(names)}
    return {
        "state": {numbers[name]: values for name, values in state["state"].items()},
        "param_groups": [
            {**group, "params": [numbers[name] for name in group["params"]]}
            for group in state["param_groups"]
        ],
    }


def named(state: Mapping[str, Any], trained: Sequence[str]) -> dict[str, Any]:
    """Return an optimiser's state with names for numbers.

    What one process writes counts trained parameters only, what ranks with shards write has gaps
    for the frozen ones.

    Args:
        state: with numbers in the order of the model.
        trained: names of the trained parameters, in that order.
    """
    numbers = sorted(number for group in state["param_groups"] for number in group["params"])
    names = dict(zip(numbers, trained, strict=True))
    return {
        "state": {names[number]: values for number, values in state["state"].items()},
        "param_groups": [
            {**group, "params": [names[number] for number in group["params"]]}
            for group in state["param_groups"]
        ],
    }
