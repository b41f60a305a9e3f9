"""Engines under test. A new engine joins the contract by one more entry in `ENGINES`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel, PreTrainedTokenizerBase

from sampo.models.policy import Policy
from sampo.rollout.engine import GenerationRequest, RolloutEngine, SamplingParams
from sampo.rollout.scripted_engine import ScriptedEngine
from sampo.rollout.transformers_engine import TransformersEngine
from tiny import tiny_model, tiny_tokenizer
from vllm_server import serve

NEEDS_VLLM = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed"),
]
ENGINES = [
    "transformers",
    pytest.param("vllm", marks=NEEDS_VLLM),
    pytest.param("vllm_servers", marks=NEEDS_VLLM),
]

REPLIES = ["up", "down left right up down left right up", ""]
"""Of the scripted engine; the last one is nothing but the end token."""


@dataclass
class Bench:
    """A synced engine with the policy it samples from, and shorthands."""

    engine: RolloutEngine
    policy: Policy
    tokenizer: PreTrainedTokenizerBase
    precision: float = 1e-5
    """Largest difference to a plain forward pass that float rounding explains."""
    _keys: int = field(default=0)

    @property
    def end_id(self) -> int:
        assert isinstance(self.tokenizer.eos_token_id, int)
        return self.tokenizer.eos_token_id

    def request(self, prompt: list[int] | tuple[int, ...], **kwargs: Any) -> GenerationRequest:
        """A request with its own key; further arguments are sampling parameters."""
        self._keys += 1
        own = {name: kwargs.pop(name) for name in ("seed", "session", "key") if name in kwargs}
        return GenerationRequest(
            key=own.pop("key", self._keys),
            prompt_ids=tuple(prompt),
            params=SamplingParams(**kwargs),
            seed=own.pop("seed", self._keys),
            **own,
        )

    def plain_logprobs(
        self, prompt: tuple[int, ...] | list[int], reply: tuple[int, ...], temperature: float = 1.0
    ) -> torch.Tensor:
        """Log-probabilities `[reply, V]` in one forward pass of the whole sequence alone."""
        ids = torch.tensor([*prompt, *reply])[None]
        was_training = self.policy.training
        self.policy.eval()
        with torch.no_grad():
            logits = self.policy.model(input_ids=ids).logits[0]
        self.policy.train(was_training)
        return (logits / temperature).log_softmax(-1)[len(prompt) - 1 : -1]

    def finish(self) -> None:
        """Leave the engine as if no test had used it: nothing in flight."""
        while self.engine.collect():
            pass

    def error(self, prompt: Any, completion: Any, temperature: float = 1.0) -> float:
        """Largest difference between reported and plain log-probabilities."""
        plain = self.plain_logprobs(prompt, completion.token_ids, temperature)
        own = plain.gather(-1, torch.tensor(completion.token_ids)[:, None]).squeeze(-1)
        return (own - torch.tensor(completion.logprobs)).abs().max().item()


def sharpen(model: PreTrainedModel) -> PreTrainedModel:
    """Scale random weights up, so that distributions are far from uniform."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.mul_(8.0)
    return model


def tiny_llama() -> PreTrainedModel:
    torch.manual_seed(1)
    tokenizer = tiny_tokenizer()
    assert isinstance(tokenizer.eos_token_id, int)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=512,
            tie_word_embeddings=False,
            eos_token_id=tokenizer.eos_token_id,
        )
    )


def make_bench(
    engine: RolloutEngine, model: PreTrainedModel, version: int = 3, precision: float = 1e-5
) -> Bench:
    bench = Bench(engine, Policy(sharpen(model)).train(), tiny_tokenizer(), precision)
    engine.bind(bench.tokenizer)
    engine.sync_weights(bench.policy, version)
    return bench


@pytest.fixture(scope="session")
def vllm() -> Iterator[RolloutEngine]:
    """One vLLM for all tests: it takes most of a minute to start."""
    from sampo.rollout.vllm_engine import VLLMEngine

    engine = VLLMEngine(cache_gib=0.25)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def vllm_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RolloutEngine]:
    """Two servers of vLLM's, started as a user would, and the engine that asks them."""
    from sampo.rollout.vllm_servers import VLLMServers

    folder = tmp_path_factory.mktemp("served")
    Policy(tiny_model(head_dim=32)).save_pretrained(folder, tiny_tokenizer())
    with serve(folder) as one, serve(folder) as two:
        engine = VLLMServers(urls=[one.url, two.url])
        yield engine
        engine.close()


def finished_bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """The bench of the engine that a test is parametrised with, left idle afterwards."""
    made_here = {"transformers": TransformersEngine, "scripted": lambda: ScriptedEngine(REPLIES)}
    if request.param in made_here:
        made = make_bench(made_here[request.param](), tiny_model())
        yield made
        made.engine.close()
    else:
        engine = request.getfixturevalue(request.param)
        made = make_bench(engine, tiny_model(head_dim=32), precision=1e-4)
        yield made
        made.finish()


@pytest.fixture(params=ENGINES)
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """Every engine that samples from the policy."""
    yield from finished_bench(request)


@pytest.fixture(params=[*ENGINES, "scripted"])
def any_bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """Every engine, also the one that knows its replies before."""
    yield from finished_bench(request)


@pytest.fixture
def llama_bench() -> Bench:
    return make_bench(TransformersEngine(), tiny_llama())


@pytest.fixture
def transformers_bench() -> Callable[..., Bench]:
    """Makes a bench around a TransformersEngine with given settings.

    `endless=True`: no token ends a reply, so that its length is its limit.
    """

    def make(*, endless: bool = False, **settings: Any) -> Bench:
        bench = make_bench(TransformersEngine(**settings), tiny_model())
        if endless:
            bench.engine = TransformersEngine(**settings)
            assert bench.policy.model.generation_config is not None
            bench.policy.model.generation_config.eos_token_id = None
            bench.engine.sync_weights(bench.policy, 3)
        return bench

    return make
