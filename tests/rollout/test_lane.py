"""Restarts are counted, and have an end."""

from __future__ import annotations

import pytest

from sampo.envs import Corridor
from sampo.envs.protocol import EnvFault, EnvRequest
from sampo.envs.slots import EnvSlots
from sampo.errors import EnvFailure
from sampo.rollout.lane import InlineWorker, Lane


class LostAtOnce(InlineWorker):
    """Loses every batch."""

    def collect(self):
        return [], "it fell over"


def lose(lane: Lane, copy_id: int):
    lane.add(copy_id, slot=0)
    lane.queue(EnvRequest(kind="reset", copy_id=copy_id, task="0>4"))
    lane.flush()
    return lane.collect()


def test_an_environment_that_always_kills_its_worker_is_given_up():
    lane = Lane(lambda: LostAtOnce(EnvSlots(Corridor())))
    for copy_id in range(60):
        assert lose(lane, copy_id) == [(0, EnvFault(message="it fell over"))]
    with pytest.raises(EnvFailure, match="lost 61 times in a minute, at last: it fell over"):
        lose(lane, 60)


def test_a_lane_without_requests_starts_no_worker():
    def never() -> InlineWorker:
        raise AssertionError("started")

    lane = Lane(never)
    lane.add(0, slot=0)
    lane.release(0)
    lane.flush()
    assert lane.worker is None and lane.collect() == [] and len(lane) == 0
