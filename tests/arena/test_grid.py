"""A grid is read strictly, and becomes ordinary command lines."""

from pathlib import Path

import pytest
import yaml

from fit_parser import build_fit
from sampo.arena.commands import fit_command, test_command
from sampo.arena.grid import read_grid
from sampo.errors import ConfigError
from sampo.resources import list_configs

from .conftest import GRID

test_command.__test__ = False
SHIPPED = [name for name in list_configs() if name.startswith("arena/")]


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_grids_can_be_read(name):
    assert read_grid(name).runs()


def test_runs_cover_everything_once_before_the_next_seed(write):
    assert [run.name for run in write().runs()] == [
        "sokoban/grpo/seed_0",
        "sokoban/sampo/seed_0",
        "sokoban/grpo/seed_1",
        "sokoban/sampo/seed_1",
    ]


def test_the_command_of_a_run(write, tmp_path):
    grid = write(common={"set": {"data.groups_per_update": 4, "trainer.limit_val_batches": None}})
    command = fit_command(grid, grid.runs()[1], tmp_path)
    assert command[2:] == [
        "sampo",
        "fit",
        "--config",
        "quickstart",
        "--data.groups_per_update=4",
        "--trainer.limit_val_batches=null",
        "--config",
        "algorithms/sampo",
        "--model.learning_rate=0.0001",
        "--seed_everything=0",
        "--data.updates_per_epoch=5",
        "--trainer.max_epochs=100000",
        f"--trainer.logger.init_args.save_dir={tmp_path}",
        "--trainer.logger.init_args.name=fit",
        "--trainer.callbacks+=sampo.callbacks.Budget",
        "--trainer.callbacks.init_args.episodes=100",
    ]


def test_a_budget_of_updates_ends_the_schedule_too(write, tmp_path):
    grid = write(budget={"updates": 23})
    command = fit_command(grid, grid.runs()[0], tmp_path)
    assert "--trainer.max_epochs=5" in command
    assert "--trainer.callbacks.init_args.updates=23" in command


def test_a_run_goes_on_from_its_newest_checkpoint(write, tmp_path):
    grid = write()
    for version in (2, 10):
        file = tmp_path / "fit" / f"version_{version}" / "checkpoints" / "last.ckpt"
        file.parent.mkdir(parents=True)
        file.touch()
    assert fit_command(grid, grid.runs()[0], tmp_path)[-1] == "--ckpt_path=last"
    assert f"--ckpt_path={file}" in test_command(tmp_path)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"method": {}}, "no setting 'method'. Did you mean 'methods'"),
        ({"methods": {}}, "a grid needs `methods`"),
        ({"methods": {"a": {"config": "x"}}}, r"methods\.a has no setting 'config'. Did you mean"),
        ({"methods": {"a": "algorithms/grop"}}, "Did you mean 'algorithms/grpo'"),
        ({"methods": {"../a": None}}, "cannot name a folder"),
        ({"methods": ["grpo"]}, "must name its members"),
        ({"seeds": [0, 0]}, "a seed stands twice"),
        ({"seeds": [-1]}, "whole numbers"),
        ({"seeds": "all"}, "whole numbers"),
        ({"budget": {"episodes": 0}}, r"budget\.episodes must be a whole number above 0"),
        ({"budget": {"episodes": 1, "tokens": 1}}, "one of updates, episodes and tokens"),
        ({"budget": {"hours": 1}}, "no setting 'hours'"),
        ({"evaluate_every": 1.5}, "evaluate_every must be a whole number"),
    ],
)
def test_what_is_wrong_is_said(write, changes, says):
    with pytest.raises(ConfigError, match=says):
        write(**changes)


def test_files_that_are_no_grid(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"no file .*nowhere"):
        read_grid(tmp_path / "nowhere.yaml")
    file = tmp_path / "x.yaml"
    file.write_text("a: [")
    with pytest.raises(ConfigError, match="is not YAML"):
        read_grid(file)
    file.write_text("- 1")
    with pytest.raises(ConfigError, match="must hold settings, not list"):
        read_grid(file)
    file.write_text(yaml.safe_dump(GRID))
    assert read_grid(file).name == "x"


@pytest.mark.parametrize("name", SHIPPED)
def test_every_run_of_a_shipped_grid_is_one_that_fit_takes(name, tmp_path):
    """Parsed and built by the parser of `sampo fit`; the policy need not be there."""
    grid = read_grid(name)
    for run in grid.runs()[: len(grid.methods) * len(grid.environments)]:
        built = build_fit(*fit_command(grid, run, tmp_path)[4:])
        assert built.data.updates_per_epoch == grid.evaluate_every
        wanted = (grid.common.settings or {}).get("data.groups_per_update", 20)
        assert built.data.plan.groups_per_update == wanted
        (budget,) = [part for part in built.trainer.callbacks if type(part).__name__ == "Budget"]
        assert budget.limits["episodes"] == grid.budget.episodes
