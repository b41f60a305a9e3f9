"""A rollout in small, and worlds that spoil it."""

import pytest

from doctor.conftest import MakeInputs
from doctor.sick_worlds import RaisesLate, corridor
from sampo.doctor.check import Status
from sampo.doctor.episodes import EpisodesPlay
from sampo.errors import ConfigError, EnvFailure
from sampo.rollout.conversation import TranscriptContext
from sampo.rollout.engine import SamplingParams


def test_a_small_rollout_that_leaves_no_trace(make_inputs: MakeInputs) -> None:
    inputs = make_inputs(env=corridor())
    before, plan = inputs.data.state_dict(), inputs.data.plan
    result = EpisodesPlay()(inputs)
    assert result.status is Status.OK and "12 episodes" in result.detail
    assert inputs.data.state_dict() == before and inputs.data.plan == plan
    assert inputs.small_rollout is inputs.small_rollout


def test_episodes_that_run_out_of_context_are_counted(make_inputs: MakeInputs) -> None:
    settings = {"context": TranscriptContext(), "context_length": 40}
    result = EpisodesPlay()(make_inputs(env=corridor(), **settings))
    counted = int(result.detail.split(" ended by context_length")[0].split()[-1])
    assert 0 < counted <= 12


def test_a_world_that_fails(make_inputs: MakeInputs) -> None:
    inputs = make_inputs(env=corridor(RaisesLate))
    try:
        result = EpisodesPlay()(inputs)
    except EnvFailure as failure:  # where no episode at all went through
        assert "the level is gone" in str(failure)
    else:
        assert result.status is Status.FAILED and "the level is gone" in result.detail


def test_truncated_sampling_is_refused(make_inputs: MakeInputs) -> None:
    inputs = make_inputs(env=corridor(), sampling=SamplingParams(top_p=0.9, max_new_tokens=1))
    with pytest.raises(ConfigError, match=r"data\.sampling"):
        EpisodesPlay()(inputs)
