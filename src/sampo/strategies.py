"""What a run on several devices may be spread by, and FSDP2 under a name of its own.

Lightning's strategies do the work; `--trainer.strategy fsdp2` is its `ModelParallelStrategy` with
the sizes filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.strategies.model_parallel import _load_raw_module_state
from lightning.pytorch.strategies import (
    DDPStrategy,
    ModelParallelStrategy,
    SingleDeviceStrategy,
    Strategy,
    StrategyRegistry,
)
from lightning.pytorch.strategies.launchers import _MultiProcessingLauncher
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_optimizer_state_dict

from sampo.errors import ConfigError

_TIMEOUT = timedelta(minutes=10)


class FSDP2Strategy(ModelParallelStrategy):
    """Shards policy, reference, gradients and optimiser over all devices of a run.

    Checkpoints are single files, which any other strategy and number of devices can go on from.
    What is sharded and how, `model.sharding` says.

    Args:
        timeout: longest wait for another rank within an update.
        process_group_backend: of `torch.distributed`; `cpu:gloo,cuda:nccl` for CPU offload.
    """

    def __init__(
        self, timeout: timedelta = _TIMEOUT, process_group_backend: str | None = None
    ) -> None:
        super().__init__(
            tensor_parallel_size=1,
            save_distributed_checkpoint=False,
            process_group_backend=process_group_backend,
            timeout=timeout,
        )

    def setup_environment(self) -> None:
        """Take all devices, now that it is known how many there are."""
        self._data_parallel_size = self.num_nodes * self.num_processes
        super().setup_environment()

    def load_checkpoint(
        self, checkpoint_path: str | Path, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Put weights and optimiser of a single file in place, and return the rest. Collective.

        Lightning's own wants every weight of the model, and counts frozen ones among those of the
        optimiser; with adapters a checkpoint has neither.

        Raises:
            RuntimeError: as torch's of a state dict that does not fit.
        """
        path = self.broadcast(str(checkpoint_path))
        checkpoint = torch.load(path, mmap=True, map_location="cpu", weights_only=weights_only)
        assert self.model is not None
        weights = checkpoint.pop("state_dict")
        _check_fit(weights, self.model.state_dict())
        _load_raw_module_state(weights, self.model, strict=False)  # checked above
        options = StateDictOptions(broadcast_from_rank0=True, full_state_dict=True)
        for optimizer, state in zip(self.optimizers, checkpoint["optimizer_states"], strict=False):
            named = _named(state, self.model)
            set_optimizer_state_dict(self.model, optimizer, named, options=options)
        return checkpoint


def _check_fit(saved: Mapping[str, Tensor], present: Mapping[str, Tensor]) -> None:
    """Compare names and shapes; a value head that is not there any more may be saved."""
    problems = [f"Missing key: {name}" for name in present if name not in saved]
    for name, tensor in saved.items():
        if name not in present and "value_head." not in name:
            problems.append(f"Unexpected key: {name}")
        elif name in present and tensor.shape != present[name].shape:
            shapes = f"{tuple(tensor.shape)}, not {tuple(present[name].shape)}"
            problems.append(f"size mismatch for {name}: {shapes}")
    if problems:
        raise RuntimeError("\n".join(["Error(s) in loading state_dict:", *problems]))


def _named(state: Mapping[str, Any], model: nn.Module) -> dict[str, Any]:
    """Return an optimiser's state with names for numbers, which are in the order of the model.

    What one process writes counts trained parameters only, what ranks with shards write has gaps
    for the frozen ones.
    """
    trained = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    numbers = sorted(number for group in state["param_groups"] for number in group["params"])
    names = dict(zip(numbers, trained, strict=True))
    return {
        "state": {names[number]: values for number, values in state["state"].items()},
        "param_groups": [
            {**group, "params": [names[number] for number in group["params"]]}
            for group in state["param_groups"]
        ],
    }


StrategyRegistry.register(
    "fsdp2", FSDP2Strategy, description="FSDP2 over all devices, checkpoints as single files"
)


def check_strategy(strategy: Strategy) -> None:
    """Refuse strategies under which a run would be wrong, or was never tried.

    Raises:
        ConfigError: names those that work.
    """
    # Lightning's own `ModelParallelStrategy` writes folders that nothing here goes on from.
    known = (SingleDeviceStrategy, DDPStrategy, FSDP2Strategy)
    forks = isinstance(strategy.launcher, _MultiProcessingLauncher)  # the trained policy is lost
    if not isinstance(strategy, known) or forks:
        raise ConfigError(
            f"trainer.strategy {type(strategy).__name__} is not supported. Take ddp (a copy of the "
            "policy on each device) or fsdp2 (sharded; in place of fsdp, FSDP's first version, "
            "and of deepspeed)."
        )
