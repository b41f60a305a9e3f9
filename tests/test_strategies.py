"""Which strategies a run takes; that they train is in tests/distributed."""

from pathlib import Path

import pytest

from fit_parser import parse_fit
from sampo.errors import ConfigError
from sampo.resources import list_configs
from sampo.strategies import FSDP2Strategy
from sampo.trainer import SampoTrainer

FRAGMENTS = ("cpu", "ddp", "fsdp", "fsdp_offload", "slurm")


def trainer(folder: Path, **options: object) -> SampoTrainer:
    return SampoTrainer(accelerator="cpu", logger=False, default_root_dir=folder, **options)


@pytest.mark.parametrize("strategy", ["auto", "ddp", "fsdp2"])
def test_what_is_supported(tmp_path: Path, strategy: str) -> None:
    assert trainer(tmp_path, devices=2, strategy=strategy).world_size == 2


@pytest.mark.parametrize("strategy", ["ddp_spawn", "ddp_fork", "ddp_notebook"])
def test_what_would_lose_the_policy_is_refused(tmp_path: Path, strategy: str) -> None:
    with pytest.raises(ConfigError, match=r"Take ddp .* or fsdp2"):
        trainer(tmp_path, devices=2, strategy=strategy)


def test_fsdp2_takes_all_devices_and_writes_single_files(tmp_path: Path) -> None:
    strategy = trainer(tmp_path, devices=3, strategy="fsdp2").strategy
    assert isinstance(strategy, FSDP2Strategy)
    assert (strategy.num_nodes, strategy.num_processes) == (1, 3)
    assert not strategy._save_distributed_checkpoint


def test_the_fragments_are_shipped_and_fit_any_run() -> None:
    shipped = {name for name in list_configs() if name.startswith("trainer/")}
    assert shipped == {f"trainer/{name}" for name in FRAGMENTS}
    for name in FRAGMENTS:
        parse_fit("--config=quickstart", f"--config=trainer/{name}")
