"""Two copies with the same task and seed."""

import pytest

from doctor.conftest import MakeInputs
from doctor.sick_worlds import Drifts, HangsInReset, HangsInStep, RandomKey, RandomStart, corridor
from sampo.data.settings import WorkerSettings
from sampo.doctor.check import Status
from sampo.doctor.equal_starts import EqualStarts
from sampo.errors import EnvFailure

ONE = WorkerSettings(num_workers=1)


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_good_world(make_inputs: MakeInputs, num_workers: int) -> None:
    workers = WorkerSettings(num_workers=num_workers)
    result = EqualStarts()(make_inputs(load=False, env=corridor(), workers=workers))
    assert result.status is Status.OK
    assert ("two processes" if num_workers else "two copies") in result.detail


@pytest.mark.parametrize(
    ("cls", "says"),
    [
        (RandomStart, "turn 0: observation is"),
        (RandomKey, "turn 0: state_key is"),
        (Drifts, "turn 1: observation is"),
    ],
)
def test_worlds_that_differ(make_inputs: MakeInputs, cls: type, says: str) -> None:
    result = EqualStarts()(make_inputs(load=False, env=corridor(cls), workers=ONE))
    assert result.status is Status.FAILED and says in result.detail


@pytest.mark.parametrize(
    ("cls", "limits"),
    [(HangsInStep, {"step_timeout_s": 0.5}), (HangsInReset, {"reset_timeout_s": 3.0})],
)
def test_worlds_that_hang(make_inputs: MakeInputs, cls: type, limits: dict[str, float]) -> None:
    workers = WorkerSettings(num_workers=1, **limits)
    inputs = make_inputs(load=False, env=corridor(cls), workers=workers)
    with pytest.raises(EnvFailure, match="did not return within"):
        EqualStarts()(inputs)
