"""What a run on several devices may be spread by, and FSDP2 under a name of its own.

Lightning's strategies do the work; `--trainer.strategy fsdp2` is its `ModelParallelStrategy` with
the sizes filled in.
"""

from __future__ import annotations

from datetime import timedelta

from lightning.pytorch.strategies import (
    DDPStrategy,
    ModelParallelStrategy,
    SingleDeviceStrategy,
    Strategy,
    StrategyRegistry,
)
from lightning.pytorch.strategies.launchers import _MultiProcessingLauncher

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


StrategyRegistry.register(
    "fsdp2", FSDP2Strategy, description="FSDP2 over all devices, checkpoints as single files"
)


def check_strategy(strategy: Strategy) -> None:
    """Refuse strategies under which a run would be wrong, or was never tried.

    Raises:
        ConfigError: names those that work.
    """
    known = (SingleDeviceStrategy, DDPStrategy, ModelParallelStrategy)
    forks = isinstance(strategy.launcher, _MultiProcessingLauncher)  # the trained policy is lost
    if not isinstance(strategy, known) or forks:
        raise ConfigError(
            f"trainer.strategy {type(strategy).__name__} is not supported. Take ddp (a copy of the "
            "policy on each device) or fsdp2 (sharded; in place of fsdp, FSDP's first version, "
            "and of deepspeed)."
        )
