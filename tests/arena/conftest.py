"""Grids, and folders of runs as `sampo fit` leaves them, without any training."""

import json
from pathlib import Path

import pytest
import yaml
from torch.utils.tensorboard import SummaryWriter

from sampo.arena.grid import Grid
from sampo.arena.grid_file import read_grid

GRID = {
    "environments": {"sokoban": "quickstart"},
    "methods": {
        "grpo": "algorithms/grpo",
        "sampo": {"configs": ["algorithms/sampo"], "set": {"model.learning_rate": 1e-4}},
    },
    "seeds": [0, 1],
    "budget": {"episodes": 100},
    "evaluate_every": 5,
}

TUNE = {
    "trials": 3,
    "seeds": [7, 8],
    "budget": {"episodes": 40},
    "ranges": {"grpo": {"model.loss.kl_coef": [0.01, 0.05]}, "sampo": {}},
}


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a grid, some of it replaced, and reads it back."""

    def made(**changes) -> Grid:
        file = tmp_path / "tiny.yaml"
        file.write_text(yaml.safe_dump({**GRID, **changes}))
        return read_grid(file)

    return made


@pytest.fixture
def finish():
    """Return a function that makes the folder of a finished run."""

    def made(folder: Path, success: dict[int, float], *, version=0, test=None, **last) -> None:
        launch = folder / "fit" / f"version_{version}"
        writer = SummaryWriter(str(launch))
        for step, value in success.items():
            writer.add_scalar("eval/success_rate", value, step)
        for name, value in last.items():
            writer.add_scalar(name.replace("__", "/"), value, max(success))
        writer.close()
        config = {
            "model": {
                "loss": {
                    "aggregation": {"kind": "token_mean"},
                    "ratio": {"level": "turn"},
                    "surrogate": {
                        "class_path": "sampo.losses.Clip",
                        "init_args": {"clip_low": 0.2, "dual_clip": None},
                    },
                    "masking": {"threshold": 0.003},
                },
                "batch_advantage": None,
            },
            "data": {
                "advantage": {"class_path": "sampo.advantages.GiGPO"},
                "group_filter": {"class_path": "sampo.filtering.SpreadFilter"},
                "max_filter_rounds": 3,
            },
        }
        (launch / "config.yaml").write_text(yaml.safe_dump(config))
        (folder / "done.json").write_text("{}")
        if test is not None:
            (folder / "test.json").write_text(json.dumps({"totals": {"success_rate": test}}))

    return made
