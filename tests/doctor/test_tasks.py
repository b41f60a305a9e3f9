"""Splits: present, disjoint, stable."""

import hashlib
from pathlib import Path

import pytest

from doctor.conftest import MakeInputs
from doctor.sick_worlds import NewTasks, NoTest, Overlap, ReadsFiles, Twice, corridor
from sampo.doctor.check import Status
from sampo.doctor.tasks import Tasks


def test_good_splits_are_named_with_their_hashes(make_inputs: MakeInputs) -> None:
    env = corridor()
    result = Tasks()(make_inputs(load=False, env=env))
    assert result.status is Status.OK
    for split in ("train", "val", "test"):
        digest = hashlib.sha256("\n".join(env.tasks(split)).encode()).hexdigest()
        assert f"{split} {len(env.tasks(split))} ({digest[:8]})" in result.detail


@pytest.mark.parametrize(
    ("cls", "says"),
    [
        (Overlap, "is in train and in test"),
        (NewTasks, "other tasks"),
        (NoTest, "tasks('test') is empty"),
        (Twice, "names a task twice"),
    ],
)
def test_bad_splits(make_inputs: MakeInputs, cls: type, says: str) -> None:
    result = Tasks()(make_inputs(load=False, env=corridor(cls)))
    assert result.status is Status.FAILED and says in result.detail


def test_data_files(make_inputs: MakeInputs, tmp_path: Path) -> None:
    (tmp_path / "levels.txt").write_text("####")
    env = corridor(ReadsFiles)
    env.files = (str(tmp_path / "levels.txt"),)
    digest = hashlib.sha256(b"####").hexdigest()[:8]
    assert f"levels.txt ({digest})" in Tasks()(make_inputs(load=False, env=env)).detail
    env.files = (str(tmp_path / "gone.txt"),)
    with pytest.raises(FileNotFoundError, match=r"gone\.txt"):
        Tasks()(make_inputs(load=False, env=env))


def test_endless_splits_are_cut(make_inputs: MakeInputs) -> None:
    # train is longer than two tasks; only its first two are looked at.
    assert "train 2 (" in Tasks(most=2)(make_inputs(load=False, env=corridor())).detail
