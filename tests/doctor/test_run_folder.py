"""Where a run writes, and whether there is room."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from doctor.conftest import MakeInputs
from sampo.doctor import run_folder
from sampo.doctor.check import Status
from sampo.doctor.run_folder import RunFolder


def test_writable_with_room_and_nothing_left_behind(make_inputs: MakeInputs) -> None:
    inputs = make_inputs()
    before = sorted(inputs.scratch.iterdir())
    result = RunFolder()(inputs)
    assert result.status is Status.OK and "healthy" in result.detail
    assert sorted(inputs.scratch.iterdir()) == before
    assert not inputs.runs.exists()


def test_a_file_in_the_way(make_inputs: MakeInputs) -> None:
    inputs = make_inputs()
    inputs.runs.parent.write_text("in the way")
    with pytest.raises(NotADirectoryError):
        RunFolder()(inputs)


def test_a_folder_that_may_not_be_written(make_inputs: MakeInputs) -> None:
    inputs = make_inputs()
    # Not even root may make files there.
    with pytest.raises(OSError, match="/proc"):
        RunFolder()(replace(inputs, runs=type(inputs.runs)("/proc/sampo")))


def test_a_full_disk(make_inputs: MakeInputs, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = make_inputs()
    size = 4 * sum(parameter.numel() for parameter in inputs.policy.parameters())
    # Three checkpoints of three copies each, and the policy itself.
    for free, status in ((10 * size, Status.OK), (10 * size - 1, Status.FAILED)):
        usage = SimpleNamespace(free=free)
        monkeypatch.setattr(run_folder.shutil, "disk_usage", lambda _, usage=usage: usage)
        assert RunFolder()(inputs).status is status
