"""The report of finished and unfinished runs: figures, table and page."""

import csv
import json

import pytest

from sampo.arena.command import main
from sampo.arena.outputs import short, write_report
from sampo.arena.report import make_report
from sampo.arena.study import studies

from .conftest import TUNE


@pytest.fixture
def arena(write, finish, tmp_path):
    """Return a grid and its folder: GRPO collapsed with seed 0; SAMPO's seed 1 is missing."""
    grid, folder = write(), tmp_path / "arena"
    finish(folder / "sokoban/grpo/seed_0", {0: 0.2, 10: 0.6, 20: 0.1}, test=0.1)
    finish(folder / "sokoban/grpo/seed_1", {0: 0.2, 10: 0.4, 20: 0.4}, test=0.4)
    finish(folder / "sokoban/sampo/seed_0", {0: 0.2, 10: 0.6, 20: 0.8})
    broken = folder / "sokoban/sampo/seed_1"
    broken.mkdir(parents=True)
    (broken / "running.log").write_text("sampo: error: <no> luck.\n")
    return grid, folder


def test_figures(arena):
    report = make_report(*arena)
    assert report.missing == {"sokoban/sampo/seed_1": "sampo: error: <no> luck."}
    grpo, sampo = report.cells
    assert (grpo.method, grpo.seeds, grpo.collapses, grpo.collapsed_at) == ("grpo", 2, 1, (20,))
    assert grpo.figures["end"].value == pytest.approx(0.25)
    assert (grpo.figures["end"].low, grpo.figures["end"].high) == pytest.approx((0.1, 0.4))
    assert grpo.figures["test"].value == pytest.approx(0.25)
    assert "test" not in sampo.figures
    assert (sampo.paper.score, sampo.paper.success) == (6.56, 88.86)
    assert report.better["sampo"]["grpo"].value == 1.0
    assert report.ranks["sampo"] == [1.0, 0.0]
    assert report.dials["grpo"]["advantage"] == "GiGPO"


def test_files(arena):
    page = write_report(make_report(*arena), arena[1])
    text = page.read_text()
    assert "sampo: error: &lt;no&gt; luck." in text
    assert "<no>" not in text
    assert text.count("<polyline") >= 8
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")
    rows = list(csv.DictReader((arena[1] / "arena.csv").read_text().splitlines()))
    assert [(row["method"], row["seed"], float(row["end"])) for row in rows] == [
        ("grpo", "0", pytest.approx(0.1)),
        ("sampo", "0", pytest.approx(0.8)),
        ("grpo", "1", pytest.approx(0.4)),
    ]
    found = json.loads((arena[1] / "arena.json").read_text())
    assert found["overall"]["sampo"]["value"] == pytest.approx(0.8)
    assert len(found["runs"]) == 3


@pytest.fixture
def tuned(write, finish, tmp_path):
    """Return a grid with a search and its folder: two trials, of which the second is better."""
    grid, folder = write(tune=TUNE), tmp_path / "arena"
    study = studies(grid, folder)[0]
    for number in study.open_trials():
        for run in study.runs(number):
            costs = {"cost__sampled_tokens": 1e6, "cost__rollout_s": 5.0, "cost__episodes": 40}
            finish(folder / run.name, {0: 0.2, 10: 0.4 + 0.2 * number}, **costs)
        study.record(number, 0.4 + 0.2 * number)
    study.settle()
    for run in grid.runs():
        tested = 0.7 if run.method.name == "grpo" else 0.3
        finish(folder / run.name, {0: 0.2, 10: 0.5}, test=tested, cost__sampled_tokens=3e6)
    return grid, folder


def test_a_search_is_judged_apart_from_the_comparison_and_counted(tuned):
    report = make_report(*tuned)
    assert report.judged_by == "test"
    assert [report.overall[name].value for name in ("grpo", "sampo")] == pytest.approx([0.7, 0.3])
    (search,) = report.tunings
    assert (search.trials, search.failed, search.chosen) == (2, 0, 1)
    assert search.settings == {"model.loss.kl_coef": 0.05}
    assert (search.success, search.untuned) == pytest.approx((0.6, 0.4))
    # Two trials of two seeds each.
    assert search.costs == {"episodes": 160, "tokens": 4e6, "seconds": 20}


def test_a_search_reaches_all_three_files(tuned):
    page = write_report(make_report(*tuned), tuned[1]).read_text()
    assert "kl_coef 0.05" in page
    assert "compared by success on the test tasks" in page
    assert "<td>160</td><td>4M</td><td>20</td>" in page
    rows = list(csv.DictReader((tuned[1] / "arena.csv").read_text().splitlines()))
    trials = [(row["method"], row["trial"], row["seed"]) for row in rows if row["trial"]]
    assert trials == [("grpo", t, s) for t in "01" for s in "78"]
    assert sum(float(row["tokens"]) for row in rows) == 4e6 + 4 * 3e6
    found = json.loads((tuned[1] / "arena.json").read_text())
    assert [run["trial"] for run in found["trials"]] == [0, 0, 1, 1]
    assert found["tunings"][0]["costs"]["tokens"] == 4e6
    assert found["grid"]["tune"]["trials"] == 3


def test_a_search_that_failed_is_why_runs_are_missing(write, tmp_path):
    grid = write(tune=TUNE)
    study = studies(grid, tmp_path)[0]
    for number in study.open_trials():
        study.record(number, None)
    report = make_report(grid, tmp_path)
    assert report.missing["sokoban/grpo/seed_0"] == (
        "its search has not chosen: 2 trials begun, 2 not done"
    )
    assert report.missing["sokoban/sampo/seed_0"] == "not begun"
    assert "not yet" in write_report(report, tmp_path).read_text()


def test_without_test_tasks_the_end_is_what_counts(arena):
    """SAMPO's run has no test."""
    report = make_report(*arena)
    assert report.judged_by == "end"
    assert (
        "compared by success on the validation tasks at the end"
        in write_report(report, arena[1]).read_text()
    )


def test_nothing_is_there_yet(write, tmp_path, capsys):
    write()
    main(
        ["--config", str(tmp_path / "tiny.yaml"), "--output", str(tmp_path / "o"), "--report-only"]
    )
    assert "0 of 4 runs" in capsys.readouterr().out
    assert "not begun" in (tmp_path / "o" / "arena.html").read_text()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "required: --config"),
        (["--config", "arena/main_nanno"], "Did you mean 'arena/main_nano'"),
        (["--config", "arena/main_nano", "--jobs", "x"], "invalid int value"),
        (["--config", "arena/main_nano", "--launcher", "sky"], "invalid choice: 'sky'"),
        (["--config", "arena/main_nano", "--resources", "gpu"], "must be settings like"),
    ],
)
def test_mistakes_are_answered_in_one_sentence(args, says, capsys):
    with pytest.raises(SystemExit) as stop:
        main(args)
    assert stop.value.code in (1, 2)
    error = capsys.readouterr().err
    assert says in error
    assert error.startswith("sampo: error:")
    assert error.count("\n") == 1


def test_short_numbers():
    assert [short(value) for value in (0.0, 0.1234567, 123.4, 1234.5, 54321, 1.5e6, None)] == [
        "0",
        "0.123",
        "123",
        "1234",
        "54.3k",
        "1.5M",
        "–",
    ]
