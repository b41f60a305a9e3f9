"""Real comparisons: stopped in the middle and gone on with, and after a search (some minutes)."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

GRID = {
    "environments": {
        "sokoban": {"configs": ["quickstart"], "set": {"data.evaluation.num_tasks": 16}}
    },
    "common": {
        "set": {
            "data.groups_per_update": 2,
            "data.group_size": 4,
            "data.max_filter_rounds": 1,
            "data.workers.num_workers": 0,
            "model.num_mini_batches": 2,
        }
    },
    "methods": {"grpo": "algorithms/grpo", "broken": {"set": {"model.learning_rate": -1}}},
    "seeds": [0],
    "budget": {"episodes": 64},
    "evaluate_every": 4,
}


def arena(tmp_path: Path, *options: str, **changes: object) -> list[str]:
    """Return the command of the grid, some of it replaced."""
    file = tmp_path / "tiny.yaml"
    file.write_text(yaml.safe_dump({**GRID, **changes}))
    command = [sys.executable, "-m", "sampo", "arena", f"--config={file}"]
    return [*command, f"--output={tmp_path / 'arena'}", *options]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("launcher", ["local", "ray"])
def test_an_arena_that_was_stopped_goes_on(launcher: str, tmp_path: Path) -> None:
    folder, command = tmp_path / "arena", arena(tmp_path, f"--launcher={launcher}")
    run = folder / "sokoban" / "grpo" / "seed_0"
    first = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    until = time.monotonic() + 300
    while not list(run.glob("fit/version_0/checkpoints/last.ckpt")):
        assert time.monotonic() < until
        assert first.poll() is None
        time.sleep(0.1)
    os.killpg(first.pid, signal.SIGINT)
    _, said = first.communicate(timeout=60)
    assert first.returncode == 130
    assert b"goes on with what is not done" in said
    assert not (run / "done.json").exists()

    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "sokoban/broken/seed_0 failed: sampo: error: model.learning_rate" in again.stderr
    report = json.loads((folder / "arena.json").read_text())
    (result,) = report["runs"]
    assert result["method"] == "grpo"
    assert result["episodes"] == 64
    assert result["updates"] == 8
    assert result["curve"]["steps"] == [0, 4, 8]
    assert result["test"] is not None
    assert {path.name for path in (run / "fit").iterdir()} == {"version_0", "version_1"}

    third = subprocess.run(command, capture_output=True, text=True, check=False)
    assert third.returncode == 1  # only the broken one was tried again
    assert {path.name for path in (run / "fit").iterdir()} == {"version_0", "version_1"}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_a_search_chose_is_in_the_config_of_the_run(tmp_path: Path) -> None:
    ranges = {"grpo": {"model.loss.kl_coef": [0.01, 0.05]}}
    command = arena(
        tmp_path,
        "--jobs=2",
        methods={"grpo": "algorithms/grpo"},
        tune={"trials": 2, "seeds": [100], "budget": {"episodes": 32}, "ranges": ranges},
    )
    subprocess.run(command, check=True, capture_output=True)
    folder = tmp_path / "arena"
    report = json.loads((folder / "arena.json").read_text())
    assert report["judged_by"] == "test"
    (search,) = report["tunings"]
    assert search["costs"]["episodes"] == 64
    assert [run["episodes"] for run in report["trials"]] == [32, 32]
    assert search["success"] == max(run["end"] for run in report["trials"])
    run = folder / "sokoban" / "grpo"
    assert not list(run.glob("trial_*/seed_*/test.json"))
    config = yaml.safe_load((run / "seed_0/fit/version_0/config.yaml").read_text())
    assert {"model.loss.kl_coef": config["model"]["loss"]["kl_coef"]} == search["settings"]
