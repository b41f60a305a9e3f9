"""FSDP2 over all devices of a run, with checkpoints as single files."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from lightning.fabric.strategies.model_parallel import _load_raw_module_state
from lightning.pytorch.strategies import ModelParallelStrategy
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_optimizer_state_dict

from sampo.strategies.single_file import TIMEOUT, check_fit, named, open_checkpoint, trained_names


class FSDP2Strategy(ModelParallelStrategy):
    """Shards policy, reference, gradients and optimiser over all devices of a run.

    What is sharded and how, `model.sharding` says.

    Args:
        timeout: longest wait for another rank within an update.
        process_group_backend: of `torch.distributed`; `cpu:gloo,cuda:nccl` for CPU offload.
    """

    def __init__(
        self, timeout: timedelta = TIMEOUT, process_group_backend: str | None = None
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
        checkpoint = open_checkpoint(self, checkpoint_path, weights_only=weights_only)
        assert self.model is not None
        weights = checkpoint.pop("state_dict")
        check_fit(weights, {name: t.shape for name, t in self.model.state_dict().items()})
        _load_raw_module_state(weights, self.model, strict=False)  # checked above
        options = StateDictOptions(broadcast_from_rank0=True, full_state_dict=True)
        for optimizer, state in zip(self.optimizers, checkpoint["optimizer_states"], strict=False):
            moments = named(state, trained_names(self.model))
            set_optimizer_state_dict(self.model, optimizer, moments, options=options)
        return checkpoint
