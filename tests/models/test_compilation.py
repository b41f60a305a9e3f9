"""Compiled layers give what the code as it is written gives; engines run it as it is."""

from __future__ import annotations

import shutil
from copy import deepcopy

import pytest
import torch
from torch import Tensor

from sampo.episode import Completion
from sampo.errors import MissingDependencyError
from sampo.models.compilation import as_written, compile_layers
from sampo.models.policy import Policy
from sampo.rollout.engine import GenerationRequest, SamplingParams
from sampo.rollout.transformers_engine import TransformersEngine
from tiny import tiny_model


def learn(policy: Policy, rows: int, width: int) -> tuple[Tensor, list[Tensor]]:
    """Return log-probabilities and gradients of random rows."""
    ids = torch.randint(3, 250, (rows, width), generator=torch.Generator().manual_seed(width))
    mask = torch.ones_like(ids, dtype=torch.bool)
    mask[:, 0] = False
    policy.zero_grad()
    logprobs = policy(ids, torch.full((rows,), width), mask).logprobs
    logprobs.sum().backward()
    return logprobs.detach(), [p.grad.clone() for p in policy.parameters() if p.grad is not None]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
@pytest.mark.filterwarnings("ignore")  # dynamo looks at what warns, and hides it by itself
def test_compiled_layers_score_learn_and_sample_the_same() -> None:
    plain = Policy(tiny_model())
    policy = deepcopy(plain)
    compile_layers(policy)
    for rows, width in ((3, 12), (5, 20), (2, 33)):  # one graph has to do for all of them
        (one, slope), (other, slope_too) = learn(plain, rows, width), learn(policy, rows, width)
        torch.testing.assert_close(other, one, rtol=0, atol=1e-5)
        for each, each_too in zip(slope, slope_too, strict=True):
            torch.testing.assert_close(each_too, each, rtol=1e-4, atol=1e-5)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 2
    with as_written(policy):
        assert torch.equal(learn(policy, 4, 9)[0], learn(plain, 4, 9)[0])
    assert reply(policy) == reply(plain)


def reply(policy: Policy) -> Completion:
    engine = TransformersEngine()
    engine.sync_weights(policy, 0)
    params = SamplingParams(max_new_tokens=6)
    return engine.generate([GenerationRequest(key=0, prompt_ids=(5, 6), params=params, seed=1)])[0]


def test_without_a_compiler_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(MissingDependencyError, match="needs a C\\+\\+ compiler"):
        compile_layers(Policy(tiny_model()))
