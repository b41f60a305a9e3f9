"""The contract of environments, through `check_env`."""

import pytest

from doctor.conftest import MakeInputs
from doctor.sick_worlds import NeverEnds, corridor
from sampo.doctor.check import Status
from sampo.doctor.env_laws import EnvLaws
from sampo.errors import EnvFailure


def test_a_good_world(make_inputs: MakeInputs) -> None:
    assert EnvLaws()(make_inputs(load=False, env=corridor())).status is Status.OK


def test_a_world_without_end(make_inputs: MakeInputs) -> None:
    with pytest.raises(EnvFailure, match="max_turns"):
        EnvLaws()(make_inputs(load=False, env=corridor(NeverEnds)))
