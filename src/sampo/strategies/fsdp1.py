"""FSDP's first version, with checkpoints as single files."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

from lightning.pytorch.plugins.precision.fsdp import FSDPPrecision
from lightning.pytorch.strategies import FSDPStrategy
from torch.distributed.fsdp import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    FullyShardedDataParallel,
    StateDictType,
)
from torch.optim import Optimizer

from sampo.flat_shards import clean, flat_roots, put_whole, whole_shapes, whole_state
from sampo.strategies.single_file import (
    TIMEOUT,
    check_fit,
    named,
    numbered,
    open_checkpoint,
    trained_names,
)


class _UnchangedInputs(FSDPPrecision):
    """Lightning's would round a batch to the precision of the weights, old log-probs included."""

    def convert_input(self, data: Any) -> Any:
        """Return it as it is."""
        return data


class FSDP1Strategy(FSDPStrategy):
    """As `FSDP2Strategy`, by FSDP's first version, for those who have to stay with it.

    Runs on the CPU, too, which Lightning's own does not. CPU offload and weights of several dtypes
    need `FSDP2Strategy`.

    Args:
        timeout: longest wait for another rank within an update.
        process_group_backend: of `torch.distributed`.
    """

    def __init__(
        self, timeout: timedelta = TIMEOUT, process_group_backend: str | None = None
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
            moments = FullyShardedDataParallel.optim_state_dict(self.model, optimizer)
        return numbered(moments) if self.is_global_zero else {}

    def load_checkpoint(
        self, checkpoint_path: str | Path, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Put weights and optimiser of a single file in place, and return the rest. Collective.

        Raises:
            RuntimeError: as torch's of a state dict that does not fit.
        """
        checkpoint = open_checkpoint(self, checkpoint_path, weights_only=weights_only)
        assert self.model is not None
        weights = checkpoint.pop("state_dict")
        roots = flat_roots(self.model)
        shapes = {f"{p}.{k}": s for p, r in roots.items() for k, s in whole_shapes(r).items()}
        check_fit(weights, shapes)
        for place, root in roots.items():
            put_whole(root, {key.removeprefix(f"{place}."): w for key, w in weights.items()})
        for optimizer, state in zip(self.optimizers, checkpoint["optimizer_states"], strict=False):
            moments = named(state, [clean(name) for name in trained_names(self.model)])
            with self._whole_moments(rank0_only=False):
                mine = FullyShardedDataParallel.optim_state_dict_to_load(
                    self.model, optimizer, moments
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
