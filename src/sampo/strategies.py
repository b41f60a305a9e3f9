"""What a run on several devices may be spread by, and FSDP under names of its own.

Lightning's strategies do the work; `--trainer.strategy fsdp2` is its `ModelParallelStrategy` with
the sizes filled in, `fsdp1` its `FSDPStrategy`. Both write checkpoints as single files, which any
other strategy and number of devices can go on from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.strategies.model_parallel import _load_raw_module_state
from lightning.pytorch.plugins.precision.fsdp import FSDPPrecision
from lightning.pytorch.strategies import (
    DDPStrategy,
    FSDPStrategy,
    ModelParallelStrategy,
    SingleDeviceStrategy,
    Strategy,
    StrategyRegistry,
)
from lightning.pytorch.strategies.launchers import _MultiProcessingLauncher
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_optimizer_state_dict
from torch.distributed.fsdp import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    FullyShardedDataParallel,
    StateDictType,
)
from torch.optim import Optimizer

from sampo.errors import ConfigError
from sampo.flat_shards import clean, flat_roots, put_whole, whole_shapes, whole_state

_TIMEOUT = timedelta(minutes=10)


class FSDP2Strategy(ModelParallelStrategy):
    """Shards policy, reference, gradients and optimiser over all devices of a run.

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
        _check_fit(weights, {name: t.shape for name, t in self.model.state_dict().items()})
        _load_raw_module_state(weights, self.model, strict=False)  # checked above
        options = StateDictOptions(broadcast_from_rank0=True, full_state_dict=True)
        for optimizer, state in zip(self.optimizers, checkpoint["optimizer_states"], strict=False):
            named = _named(state, _trained(self.model))
            set_optimizer_state_dict(self.model, optimizer, named, options=options)
        return checkpoint


class _UnchangedInputs(FSDPPrecision):
    """Lightning's would round a batch to the precision of the weights, old log-probs included."""

    def convert_input(self, data: Any) -> Any:
        """Return it as it is."""
        return data


class FSDP1Strategy(FSDPStrategy):
    """The same by FSDP's first version, for those who have to stay with it.

    Runs on the CPU, too, which Lightning's own does not. CPU offload and weights of several dtypes
    need `FSDP2Strategy`.

    Args:
        timeout: longest wait for another rank within an update.
        process_group_backend: of `torch.distributed`.
    """

    def __init__(
        self, timeout: timedelta = _TIMEOUT, process_group_backend: str | None = None
    ) -> None:
        super().__init__(
            process_group_backend=process_group_backend,
            timeout=timeout,
            state_dict_type="full",
            use_orig_params=True,
        )

    @property
    def precision_plugin(self) -> FSDPPrecision:
        """How weights and activations are rounded."""
        return self._unchanged

    @precision_plugin.setter
    def precision_plugin(self, plugin: FSDPPrecision | None) -> None:
        precision: Any = "32-true" if plugin is None else plugin.precision  # one that FSDP has
        self._unchanged = _UnchangedInputs(precision)

    def lightning_module_state_dict(self) -> dict[str, Any]:
        """Return the whole weights in host memory on rank 0, nothing elsewhere. Collective."""
        assert self.model is not None
        return {
            f"{place}.{key}": tensor.to("cpu", copy=True)
            for place, root in flat_roots(self.model).items()
            for key, tensor in whole_state(root, saved=True)
            if self.is_global_zero
        }

    def optimizer_state(self, optimizer: Optimizer) -> dict[str, Any]:
        """Return the whole state on rank 0, as one process would write it. Collective."""
        assert self.model is not None
        optimizer = getattr(optimizer, "_optimizer", optimizer)
        with self._whole_moments(rank0_only=True):
            named = FullyShardedDataParallel.optim_state_dict(self.model, optimizer)
        return _numbered(named) if self.is_global_zero else {}

    def load_checkpoint(
        self, checkpoint_path: str | Path, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Put weights and optimiser of a single file in place, and return the rest. Collective.

        Raises:
            RuntimeError: as torch's of a state dict that does not fit.
        """
        path = self.broadcast(str(checkpoint_path))
        checkpoint = torch.load(path, mmap=True, map_location="cpu", weights_only=weights_only)
        assert self.model is not None
        weights = checkpoint.pop("state_dict")
        roots = flat_roots(self.model)
        shapes = {f"{p}.{k}": s for p, r in roots.items() for k, s in whole_shapes(r).items()}
        _check_fit(weights, shapes)
        for place, root in roots.items():
            put_whole(root, {key.removeprefix(f"{place}."): w for key, w in weights.items()})
        for optimizer, state in zip(self.optimizers, checkpoint["optimizer_states"], strict=False):
            named = _named(state, [clean(name) for name in _trained(self.model)])
            with self._whole_moments(rank0_only=False):
                mine = FullyShardedDataParallel.optim_state_dict_to_load(
                    self.model, optimizer, named
                )
            optimizer.load_state_dict(mine)
        return checkpoint

    def _whole_moments(self, *, rank0_only: bool) -> AbstractContextManager[Any]:
        """Let FSDP take and give the state of an optimiser as one process would."""
        assert self.model is not None
        # Where there is nothing to move, torch would hand out the one buffer that it gathers in.
        offload = self.root_device.type != "cpu"
        return FullyShardedDataParallel.state_dict_type(
            self.model,
            StateDictType.FULL_STATE_DICT,
            FullStateDictConfig(offload_to_cpu=offload, rank0_only=rank0_only),
            FullOptimStateDictConfig(offload_to_cpu=offload, rank0_only=rank0_only),
        )


def _check_fit(saved: Mapping[str, Tensor], present: Mapping[str, torch.Size]) -> None:
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


def _trained(model: nn.Module) -> list[str]:
    return [name for name, parameter in model.named_parameters() if parameter.requires_grad]


def _numbered(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return an optimiser's state with numbers for names, in the order of its groups."""
    names = [name for group in named["param_groups"] for name in group["params"]]
    numbers = {name: number for number, name in enumerate(names)}
    return {
        "state": {numbers[name]: values for name, values in named["state"].items()},
        "param_groups": [
            {**group, "params": [numbers[name] for name in group["params"]]}
            for group in named["param_groups"]
        ],
    }


def _named(state: Mapping[str, Any], trained: Sequence[str]) -> dict[str, Any]:
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


StrategyRegistry.register(
    "fsdp2", FSDP2Strategy, description="FSDP2 over all devices, checkpoints as single files"
)
StrategyRegistry.register(
    "fsdp1", FSDP1Strategy, description="FSDP's first version, checkpoints as single files"
)


def check_strategy(strategy: Strategy) -> None:
    """Refuse strategies under which a run would be wrong, or was never tried.

    Raises:
        ConfigError: names those that work.
    """
    # Lightning's own `ModelParallelStrategy` writes folders that nothing here goes on from.
    known = (SingleDeviceStrategy, DDPStrategy, FSDP2Strategy, FSDP1Strategy)
    forks = isinstance(strategy.launcher, _MultiProcessingLauncher)  # the trained policy is lost
    if not isinstance(strategy, known) or forks:
        raise ConfigError(
            f"trainer.strategy {type(strategy).__name__} is not supported. Take ddp (a copy of the "
            "policy on each device) or fsdp2 (sharded, in place of deepspeed; fsdp1 is FSDP's "
            "first version)."
        )
