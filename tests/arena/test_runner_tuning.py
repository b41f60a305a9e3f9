"""Searches before the comparison: ordinary runs, resumable, and their choice reaches every run."""

import json

import pytest

from sampo.arena.command import progress_table
from sampo.arena.runner import Runner
from sampo.errors import ConfigError

from .conftest import TUNE

SUCCESS = {"0.01": 0.4, "0.05": 0.6}
"""Of a run, by its KL coefficient."""


class Pretending:
    """A launcher whose runs end at once; their success follows from their command."""

    def __init__(self, arena, finish, luck):
        self.made, self.arena, self.finish, self.luck = [], arena, finish, luck

    def execute(self, command, folder, log):
        name = str(folder.relative_to(self.arena))
        kind = command[3]
        self.made.append((kind, name))
        if not self.luck(name):
            (folder / log).write_text("sampo: error: no luck.\n")
            return 1
        if kind == "fit":
            coefs = [a.split("=")[1] for a in command if a.startswith("--model.loss.kl_coef=")]
            (folder / log).touch()
            self.finish(folder, {0: 0.2, 10: SUCCESS[coefs[0]] if coefs else 0.5})
            (folder / "done.json").unlink()
            checkpoint = folder / "fit/version_0/checkpoints/last.ckpt"
            checkpoint.parent.mkdir(exist_ok=True)
            checkpoint.touch()
        return 0

    def stop(self):
        pass


@pytest.fixture
def run(write, finish, tmp_path):
    """Return a function that runs the grid as far as it goes; returns launcher and progress."""

    def made(luck=lambda name: True, **changes):
        launcher = Pretending(tmp_path / "arena", finish, luck)
        grid = write(tune={**TUNE, **changes})
        return launcher, Runner(grid=grid, folder=tmp_path / "arena", launcher=launcher, jobs=3)

    return made


TRIALS = {f"sokoban/grpo/trial_{trial}/seed_{seed}" for trial in (0, 1) for seed in (7, 8)}
RUNS = {f"sokoban/{method}/seed_{seed}" for method in ("grpo", "sampo") for seed in (0, 1)}


def test_trials_come_first_and_never_see_the_test_tasks(run, tmp_path):
    launcher, runner = run()
    progress = runner.run()
    assert not progress.errors
    assert set(launcher.made[:4]) == {("fit", name) for name in TRIALS}
    assert set(launcher.made[4:]) == {(k, name) for k in ("fit", "evaluate") for name in RUNS}
    for seed in (0, 1):
        command = json.loads(
            (tmp_path / f"arena/sokoban/grpo/seed_{seed}/command.json").read_text()
        )
        assert "--model.loss.kl_coef=0.05" in command
    launcher, runner = run()
    states = runner.run().states
    assert {states[name] for name in RUNS} == {"done"}
    assert launcher.made == []


def test_a_failed_trial_is_told_and_another_one_chosen(run, tmp_path):
    """The better setting fails: the other is taken, and stays when the failure would be mended."""
    launcher, runner = run(lambda name: "trial_1" not in name)
    progress = runner.run()
    assert set(progress.errors) == {f"sokoban/grpo/trial_1/seed_{seed}" for seed in (7, 8)}
    assert {progress.states[name] for name in RUNS} == {"done"}
    command = json.loads((tmp_path / "arena/sokoban/grpo/seed_0/command.json").read_text())
    assert "--model.loss.kl_coef=0.01" in command
    launcher, runner = run()
    assert not runner.run().errors
    assert launcher.made == []


def test_one_seed_that_fails_fails_its_trial_and_only_that_seed_is_tried_again(run):
    bad = "sokoban/grpo/trial_1/seed_8"
    everything_fails = lambda name: "trial" in name and name != bad  # noqa: E731
    launcher, runner = run(everything_fails)
    runner.run()
    launcher, runner = run()
    runner.run()
    assert "fit" in {kind for kind, _ in launcher.made}
    assert not {name for _, name in launcher.made} & TRIALS  # chosen already: trial 0


def test_without_any_good_trial_the_method_fails_and_the_others_go_on(run):
    launcher, runner = run(lambda name: "trial" not in name)
    progress = runner.run()
    assert progress.errors["sokoban/grpo"].startswith("no trial of its search ended well")
    assert {name: state for name, state in progress.states.items() if name in RUNS} == {
        "sokoban/grpo/seed_0": "failed",
        "sokoban/grpo/seed_1": "failed",
        "sokoban/sampo/seed_0": "done",
        "sokoban/sampo/seed_1": "done",
    }
    launcher, runner = run()
    assert not runner.run().errors
    assert {name for _, name in launcher.made} == TRIALS | {n for n in RUNS if "grpo" in n}


def test_a_search_that_was_stopped_goes_on(run):
    launcher, runner = run()

    def stop(name):
        if "trial_1" in name:
            runner._stop()
        return True

    launcher.luck = stop
    runner.run()
    assert {name for _, name in launcher.made} <= TRIALS
    made = {name for _, name in launcher.made if "trial_0" in name}
    assert len(made) == 2
    launcher, runner = run()
    assert not runner.run().errors
    assert {name for _, name in launcher.made} == (TRIALS | RUNS) - made


def test_another_search_in_the_same_folder_is_refused(run):
    run()[1].run()
    with pytest.raises(ConfigError, match="begun with another `tune`"):
        run(seeds=[9])


def test_the_table_tells_of_the_search(run):
    _, runner = run()
    seen = []
    runner.changed = lambda progress: seen.append(
        next(iter(progress_table(runner.grid, progress).columns[1].cells))
    )
    runner.run()
    assert "· ·  (trial 1 of 2)" in seen
    assert "· ·  (trial 2 of 2)" in seen
    assert seen[-1] == "✓ ✓"
