"""Waiting for several environments at once."""

import pytest

from doctor.conftest import MakeInputs
from doctor.sick_worlds import RaisesLate, corridor
from sampo.doctor.worlds import first_replies, replies
from sampo.errors import EnvFailure


def test_first_observations_in_the_order_of_the_requests(make_inputs: MakeInputs) -> None:
    inputs = make_inputs(load=False, env=corridor())
    requests = inputs.requests(3)
    with inputs.pool(num_workers=1) as pool:
        shown = [reply.observation for reply in first_replies(pool, requests)]
    starts = [request.task.split(">") for request in requests]
    assert shown == [f"at {start} door {door}" for start, door in starts]


def test_a_fault_is_raised(make_inputs: MakeInputs) -> None:
    inputs = make_inputs(load=False, env=corridor(RaisesLate))
    with inputs.pool(num_workers=1) as pool:
        pool.reset(0, "1>3", seed=0)
        assert list(replies(pool)) == [0]
        pool.step(0, "left")
        replies(pool)
        pool.step(0, "right")
        with pytest.raises(EnvFailure, match="the level is gone"):
            replies(pool)
