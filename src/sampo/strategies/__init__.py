"""What a run on several devices may be spread by, and FSDP under names of its own.

Lightning's strategies do the work; `--trainer.strategy fsdp2` is its `ModelParallelStrategy` with
the sizes filled in, `fsdp1` its `FSDPStrategy`. Both write checkpoints as single files, which any
other strategy and number of devices can go on from.
"""

from __future__ import annotations

from lightning.pytorch.strategies import (
    DDPStrategy,
    SingleDeviceStrategy,
    Strategy,
    StrategyRegistry,
)
from lightning.pytorch.strategies.launchers import _MultiProcessingLauncher

from sampo.errors import ConfigError
from sampo.strategies.fsdp1 import FSDP1Strategy
from sampo.strategies.fsdp2 import FSDP2Strategy

__all__ = ["FSDP1Strategy", "FSDP2Strategy", "check_strategy"]

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
