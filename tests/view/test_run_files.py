"""A run is found by its folder or by its name, and what is no run is said so in one sentence."""

from pathlib import Path

import pytest

from sampo.errors import ConfigError, MissingDataError
from sampo.view.episodes import load
from sampo.view.run_files import find_run


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_a_run_by_its_folder(small_run):
    run = find_run(small_run)
    assert run.name == "small/version_0"
    assert (run.note, run.has_events) == (None, True)
    assert [(f.kind, f.step) for f in run.episodes] == [
        ("update", 1),
        ("update", 2),
        ("validation", 3),  # after three updates, so before the fourth
        ("update", 3),
    ]


def test_the_newest_version_that_holds_anything(tmp_path):
    for number in (2, 10):
        touch(tmp_path / "own" / f"version_{number}" / "events.out.tfevents.1.x.1.0")
    (tmp_path / "own" / "version_11").mkdir()
    run = find_run(tmp_path / "own")
    assert run.folder.name == "version_10"
    assert run.note == f"version_10 is the newest of the runs in {tmp_path / 'own'}."


def test_a_run_that_crashed_before_its_first_curve(tmp_path):
    touch(tmp_path / "episodes" / "update_000000.jsonl")
    touch(tmp_path / "episodes" / ".update_000001.jsonl.77.partial")
    run = find_run(tmp_path)
    assert (run.has_events, run.config, run.alarms) == (False, None, None)
    assert [f.path.name for f in run.episodes] == ["update_000000.jsonl"]


def test_a_rollout_that_broke_off_is_shown_until_it_is_whole(tmp_path):
    for name in ("update_000000", "update_000001.partial", "update_000000.partial"):
        touch(tmp_path / "episodes" / f"{name}.jsonl")
    files = find_run(tmp_path).episodes
    assert [(f.path.name, f.partial) for f in files] == [
        ("update_000000.jsonl", False),
        ("update_000001.partial.jsonl", True),
    ]
    assert "not over, or broke off" in load(files[1]).notices[0]


def test_an_unknown_folder(tmp_path):
    (tmp_path / "quickstart").mkdir()
    with pytest.raises(MissingDataError, match=r"no folder .*quikstart. Did you mean 'quickstart'"):
        find_run(tmp_path / "quikstart")
    with pytest.raises(MissingDataError, match=r"There is no folder .*/no/where\.$"):
        find_run(tmp_path / "no" / "where")


def test_a_folder_of_runs_names_them(small_run):
    with pytest.raises(MissingDataError, match=r"is no run; name one that it holds: small\."):
        find_run(small_run.parent.parent)


def test_an_empty_folder(tmp_path):
    with pytest.raises(MissingDataError, match="holds nothing of a run: no curves"):
        find_run(tmp_path)


def test_a_file(tmp_path):
    touch(tmp_path / "x")
    with pytest.raises(ConfigError, match="is a file; name the folder of a run"):
        find_run(tmp_path / "x")
