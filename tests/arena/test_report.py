"""The report of finished and unfinished runs: figures, table and page."""

import csv
import json

import pytest

from sampo.arena.command import main
from sampo.arena.outputs import short, write_report
from sampo.arena.report import make_report


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
    assert sampo.paper == 88.86
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
