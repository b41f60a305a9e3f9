"""A grid becomes runs, and each of them an ordinary command line."""

import pytest
import yaml

from fit_parser import build_fit, parse_fit
from sampo.arena.commands import fit_command, test_command
from sampo.arena.grid import Part
from sampo.arena.grid_file import read_grid
from sampo.arena.knobs import read_knobs, settings_of
from sampo.arena.study import studies
from sampo.resources import find_config, list_configs

from .conftest import TUNE

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


def test_the_command_of_a_trial(write, tmp_path):
    grid = write(tune=TUNE)
    study = studies(grid, tmp_path)[0]
    assert next(study.open_trials()) == 0
    run = study.runs(0)[1]
    assert run.name == "sokoban/grpo/trial_0/seed_8"
    command = fit_command(grid, run, tmp_path)
    assert command[4:8] == ["--config", "quickstart", "--config", "algorithms/grpo"]
    assert command[8:10] == ["--model.loss.kl_coef=0.01", "--seed_everything=8"]
    assert "--trainer.callbacks.init_args.episodes=40" in command


@pytest.mark.parametrize("name", SHIPPED)
def test_every_run_of_a_shipped_grid_is_one_that_fit_takes(name, tmp_path):
    """Parsed and built by the parser of `sampo fit`; the policy need not be there."""
    grid = read_grid(name)
    for run in grid.runs()[: len(grid.methods) * len(grid.environments)]:
        built = build_fit(*fit_command(grid, run, tmp_path)[4:])
        assert built.data.updates_per_epoch == grid.evaluate_every
        common = grid.common.settings or {}
        if "data.groups_per_update" in common:
            assert built.data.plan.groups_per_update == common["data.groups_per_update"]
        (budget,) = [part for part in built.trainer.callbacks if type(part).__name__ == "Budget"]
        assert budget.limits["episodes"] == grid.budget.episodes


@pytest.mark.parametrize("name", [name for name in list_configs() if name.startswith("ranges/")])
def test_the_shipped_ranges_are_settings_that_fit_takes(name):
    """Of every method the last choice of every knob; the others differ from it in numbers only."""
    methods = yaml.safe_load(find_config(name).read_text())
    for method, entry in methods.items():
        knobs = read_knobs(entry, name)
        for knob in knobs:
            shapes = [
                [(k, type(v)) for k, v in knob.settings(n).items()]
                for n in range(len(knob.choices))
            ]
            assert all(shape == shapes[0] for shape in shapes)
        settings = settings_of(knobs, {knob.name: len(knob.choices) - 1 for knob in knobs})
        part = Part(name=method, configs=(f"algorithms/{method}",), settings=settings)
        config = parse_fit("--config=quickstart", *part.arguments())
        assert {key: config[key] for key in settings} == settings
