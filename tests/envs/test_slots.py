"""Reading what environments return. Faults are tried for real in tests/rollout/test_workers.py."""

from __future__ import annotations

import numpy as np
import pytest

from sampo.envs import Corridor
from sampo.envs.protocol import EnvFault, EnvReply, EnvRequest
from sampo.envs.slots import EnvSlots, read_reset, read_step
from sampo.errors import EnvFailure


def test_numbers_of_numpy_become_plain_ones():
    info = {"success": np.bool_(True), "metrics": {"score": np.float32(0.5), "n": 2}}
    reply = read_step(Corridor(), ("o", np.float64(1.5), np.bool_(True), False, info))
    assert reply.metrics == {"score": 0.5, "n": 2.0}
    plain = (reply.reward, reply.terminated, reply.success, *reply.metrics.values())
    assert [type(value) for value in plain] == [float, bool, bool, float, float]


def test_actions_may_be_unknown_or_none_at_all():
    env = Corridor()
    assert read_reset(env, ("o", {})).admissible_actions is None
    assert read_reset(env, ("o", {"admissible_actions": None})).admissible_actions is None
    assert read_reset(env, ("o", {"admissible_actions": ["a"]})).admissible_actions == ("a",)


def test_a_reset_of_the_old_kind_is_refused():
    with pytest.raises(EnvFailure, match=r"did not return \(observation, info\) but a value of"):
        read_reset(Corridor(), "o")


def test_the_prototype_and_the_copies_are_apart():
    prototype = Corridor(length=5)
    slots = EnvSlots(prototype)
    before = dict(vars(prototype))
    for copy_id, task in enumerate(["0>4", "3>0"]):
        slots.run(EnvRequest(kind="reset", copy_id=copy_id, task=task))
    slots.run(EnvRequest(kind="step", copy_id=0, action="right"))
    second = slots.run(EnvRequest(kind="step", copy_id=1, action="left"))
    assert isinstance(second, EnvReply) and second.observation == "at 2 door 0"
    assert vars(prototype) == before


def test_after_a_fault_only_a_reset_helps():
    slots = EnvSlots(Corridor())
    fault = slots.run(EnvRequest(kind="reset", copy_id=0, task="9>9"))
    assert isinstance(fault, EnvFault)
    assert fault.message.startswith("reset raised ConfigError: No task '9>9' in this corridor.")
    assert slots.run(EnvRequest(kind="step", copy_id=0)) == EnvFault(
        message="step came after a fault"
    )
    assert isinstance(slots.run(EnvRequest(kind="reset", copy_id=0, task="0>4")), EnvReply)


def test_messages_stay_short():
    class Verbose(Corridor):
        def step(self, action):
            raise ValueError("x" * 10_000)

    slots = EnvSlots(Verbose())
    slots.run(EnvRequest(kind="reset", copy_id=0, task="0>4"))
    fault = slots.run(EnvRequest(kind="step", copy_id=0))
    assert isinstance(fault, EnvFault) and len(fault.message) < 600
