"""Engines that sample from the policy, and engines that do not."""

import copy
from dataclasses import replace

import pytest
import torch

from doctor.conftest import MakeInputs
from doctor.sick_worlds import corridor
from sampo.doctor.check import Status
from sampo.doctor.engine_agreement import EngineEqualsTrainer
from sampo.rollout.engine import SamplingParams
from sampo.rollout.scripted_engine import ScriptedEngine
from sampo.rollout.transformers_engine import TransformersEngine


class LyingEngine(TransformersEngine):
    """Reports log-probabilities that are a little too high."""

    def collect(self):
        return [
            (key, replace(done, logprobs=tuple(value + 0.01 for value in done.logprobs)))
            for key, done in super().collect()
        ]


class StaleEngine(TransformersEngine):
    """Samples from weights of its own."""

    def sync_weights(self, policy, version):
        stale = copy.deepcopy(policy)
        with torch.no_grad():
            stale.head_weight.mul_(1.05)
        super().sync_weights(stale, version)


class HotEngine(TransformersEngine):
    """Samples at another temperature than it was told."""

    def submit(self, requests):
        super().submit([replace(r, params=replace(r.params, temperature=3.0)) for r in requests])


def test_the_policys_own_engine(make_inputs: MakeInputs) -> None:
    sampling = SamplingParams(max_new_tokens=4)
    result = EngineEqualsTrainer()(make_inputs(env=corridor(), sampling=sampling))
    assert result.status is Status.OK and "limit 0.001" in result.detail


@pytest.mark.parametrize("engine", [LyingEngine, StaleEngine, HotEngine])
def test_other_engines(make_inputs: MakeInputs, engine: type) -> None:
    sampling = SamplingParams(max_new_tokens=4)
    inputs = make_inputs(env=corridor(), sampling=sampling, engine=engine())
    assert EngineEqualsTrainer()(inputs).status is Status.FAILED


def test_an_engine_that_knows_no_policy(make_inputs: MakeInputs) -> None:
    inputs = make_inputs(env=corridor(), engine=ScriptedEngine(["a", "b"]))
    assert EngineEqualsTrainer()(inputs).status is Status.FAILED
