"""A hang is ended by killing its process."""

import time

import pytest

from doctor.conftest import MakeInputs
from doctor.sick_worlds import corridor
from sampo.data.settings import WorkerSettings
from sampo.doctor.check import Status
from sampo.doctor.runaway import RunawayKilled
from sampo.envs.process import WorkerProcess

ONE = WorkerSettings(num_workers=1)


def test_a_hang_is_killed_and_replaced(make_inputs: MakeInputs) -> None:
    inputs = make_inputs(load=False, env=corridor(), workers=ONE)
    started = time.monotonic()
    result = RunawayKilled(deadline_s=0.3)(inputs)
    assert result.status is Status.OK and "deadline 0.3 s" in result.detail
    assert time.monotonic() - started < 20


def test_without_workers_nothing_can_be_killed(make_inputs: MakeInputs) -> None:
    result = RunawayKilled()(make_inputs(load=False, env=corridor()))
    assert result.status is Status.SKIPPED and "num_workers is 0" in result.detail


def test_deadlines_that_are_not_kept(
    make_inputs: MakeInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WorkerProcess, "time_left_s", property(lambda _: 1000.0))
    inputs = make_inputs(load=False, env=corridor(), workers=ONE)
    result = RunawayKilled(deadline_s=0.1, grace_s=0.3)(inputs)
    assert result.status is Status.FAILED and "still running" in result.detail


def test_a_kill_that_kills_nothing(
    make_inputs: MakeInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    spared: list[WorkerProcess] = []
    kill = WorkerProcess.kill
    monkeypatch.setattr(WorkerProcess, "kill", lambda worker: spared.append(worker))
    inputs = make_inputs(load=False, env=corridor(), workers=ONE)
    try:
        result = RunawayKilled(deadline_s=0.1)(inputs)
        assert result.status is Status.FAILED and "still alive" in result.detail
    finally:
        for worker in spared:
            kill(worker)
