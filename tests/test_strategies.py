"""Which strategies a run takes; that they train is in tests/distributed."""

from pathlib import Path

import pytest
import torch
from lightning.pytorch.strategies import ModelParallelStrategy
from torch import nn

from fit_parser import parse_fit
from sampo.errors import ConfigError
from sampo.resources import list_configs
from sampo.strategies import FSDP2Strategy
from sampo.strategies.single_file import check_fit, named, numbered, trained_names
from sampo.trainer import SampoTrainer

FRAGMENTS = ("cpu", "ddp", "fsdp", "fsdp1", "fsdp_offload", "slurm")


def trainer(folder: Path, **options: object) -> SampoTrainer:
    return SampoTrainer(accelerator="cpu", logger=False, default_root_dir=folder, **options)


@pytest.mark.parametrize("strategy", ["auto", "ddp", "fsdp1", "fsdp2"])
def test_what_is_supported(tmp_path: Path, strategy: str) -> None:
    assert trainer(tmp_path, devices=2, strategy=strategy).world_size == 2


@pytest.mark.parametrize(
    "strategy", ["ddp_spawn", "ddp_fork", "ddp_notebook", ModelParallelStrategy()]
)
def test_what_would_lose_the_policy_is_refused(tmp_path: Path, strategy: object) -> None:
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


@pytest.mark.parametrize("numbers", [[0, 1], [1, 2]], ids=["one process's", "of shards"])
def test_moments_find_the_parameters_that_are_trained(numbers: list[int]) -> None:
    """Of three parameters the first is frozen; shards count it, one process does not."""
    model = nn.ParameterDict({name: nn.Parameter(torch.zeros(1)) for name in "abc"})
    model["a"].requires_grad_(requires_grad=False)
    state = {number: {"step": torch.tensor(float(number))} for number in numbers}
    groups = [{"lr": 1.0, "params": numbers}]
    moments = named({"state": state, "param_groups": groups}, trained_names(model))
    assert moments["param_groups"] == [{"lr": 1.0, "params": ["b", "c"]}]
    assert moments["state"] == dict(zip("bc", state.values(), strict=True))
    written = numbered(moments)
    assert written["param_groups"] == [{"lr": 1.0, "params": [0, 1]}]
    assert written["state"] == dict(enumerate(state.values()))


def test_weights_of_another_policy_are_told_as_torch_does() -> None:
    weights = {"w": torch.zeros(2), "value_head.weight": torch.zeros(1)}
    check_fit(weights, {"w": torch.Size([2])})  # the value head is not needed any more
    with pytest.raises(RuntimeError, match=r"loading state_dict:\nsize mismatch for w: \(2,\)"):
        check_fit(weights, {"w": torch.Size([3])})
    with pytest.raises(RuntimeError, match="Missing key: v\nUnexpected key: w"):
        check_fit(weights, {"v": torch.Size([2])})
