"""A grid is read strictly."""

from pathlib import Path

import pytest
import yaml

from sampo.arena.grid_file import read_grid
from sampo.errors import ConfigError

from .conftest import GRID, TUNE


def test_a_search_is_read_with_the_grids_budget_unless_it_has_its_own(write):
    assert write().tune is None
    tune = write(tune=TUNE).tune
    assert (tune.trials, tune.seeds, tune.budget.episodes) == (3, (7, 8), 40)
    assert [knob.choices for knob in tune.knobs["grpo"]] == [(0.01, 0.05)]
    assert tune.knobs["sampo"] == ()
    own = {key: value for key, value in TUNE.items() if key != "budget"}
    assert write(tune=own).tune.budget.episodes == 100


def test_ranges_come_from_a_shipped_config(write):
    tune = write(tune={**TUNE, "ranges": "ranges/paper"}).tune
    assert [knob.name for knob in tune.knobs["sampo"]] == [
        "clip",
        "model.loss.kl_coef",
        "model.num_mini_batches",
        "data.max_filter_rounds",
    ]


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
        ({"budget": {"episodes": 1, "tokens": 1}}, "is one of updates, episodes and tokens"),
        ({"budget": {"hours": 1}}, "no setting 'hours'"),
        ({"evaluate_every": 1.5}, "evaluate_every must be a whole number"),
        ({"tune": {"trials": 2, "ranges": "ranges/nano"}}, "tune needs `seeds`"),
        ({"tune": {**TUNE, "trials": 0}}, "tune needs `trials`"),
        ({"tune": {**TUNE, "seeds": [1, 7]}}, r"\[1\] are also seeds of the comparison"),
        ({"tune": {**TUNE, "ranges": {"grpo": {}}}}, "no ranges for the method 'sampo'"),
        ({"tune": {**TUNE, "ranges": "ranges/nanno"}}, "Did you mean 'ranges/nano'"),
        ({"tune": {**TUNE, "ranges": [1]}}, r"must hold the ranges of each method, got \[1\]"),
        ({"tune": TUNE, "test": False}, "judged by the test tasks; take `test: false` out"),
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
