"""The expert plays, through prompts and replies as in a run."""

from anything_goes import AnythingGoes
from doctor.conftest import MakeInputs
from doctor.sick_worlds import BadExpert, NoExpert, RaisesLate, corridor
from sampo.doctor.check import Status
from sampo.doctor.expert import ExpertSolves
from sampo.envs import Corridor


def test_a_good_expert(make_inputs: MakeInputs) -> None:
    result = ExpertSolves(tasks=3)(make_inputs(load=False, env=corridor()))
    assert result.status is Status.OK and "solves 3 of 3" in result.detail


def test_no_expert(make_inputs: MakeInputs) -> None:
    result = ExpertSolves()(make_inputs(load=False, env=corridor(NoExpert)))
    assert result.status is Status.SKIPPED and "NoExpert has no expert_action" in result.detail


def test_a_bad_expert(make_inputs: MakeInputs) -> None:
    result = ExpertSolves()(make_inputs(load=False, env=corridor(BadExpert)))
    assert result.status is Status.FAILED and "solves 0" in result.detail


def test_too_few_turns(make_inputs: MakeInputs) -> None:
    env = Corridor(length=9, max_turns=1, prompt_format=AnythingGoes())
    assert ExpertSolves()(make_inputs(load=False, env=env)).status is Status.FAILED


def test_a_world_that_fails_on_the_way(make_inputs: MakeInputs) -> None:
    result = ExpertSolves()(make_inputs(load=False, env=corridor(RaisesLate)))
    assert result.status is Status.FAILED and "the level is gone" in result.detail
