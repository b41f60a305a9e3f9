"""Dispatch, sleep and failure of an engine with copies of the policy, on replicas made for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sampo.errors import ConfigError, EngineError
from sampo.models.loading import load_causal_lm
from sampo.models.policy import Policy
from sampo.rollout import weight_proof
from sampo.rollout.engine import GenerationRequest, SamplingParams
from sampo.rollout.replica import Replica, Reply
from sampo.rollout.replica_engine import ReplicaEngine
from sampo.rollout.weight_proof import checksum, probe_logprobs
from sampo.rollout.weight_shipment import read_weights
from tiny import tiny_model, tiny_tokenizer


class Copy(Replica):
    """Loads what is shipped with transformers, and answers every request with its own number."""

    dtype = "torch.float32"

    def __init__(self, number: int, log: list[Any]) -> None:
        self.number = number
        self.log = log
        self.hold = asyncio.Event()
        self.hold.set()
        self.fields: Mapping[str, Any] = {}
        self._policy: Policy | None = None

    async def generate(self, request: GenerationRequest, fields: Mapping[str, Any]) -> Reply:
        self.log.append((request.key, self.number))
        self.fields = fields
        await self.hold.wait()
        return Reply([self.number], [-0.5], "stop")

    async def score(self, token_ids: Sequence[int]) -> list[float]:
        assert self._policy is not None
        return probe_logprobs(self._policy).tolist()

    async def load(self, folder: Path) -> list[dict[str, int]]:
        self.log.append(f"load {self.number}")
        self._policy = Policy(load_causal_lm(str(folder)))
        return [{name: checksum(tensor) for name, tensor in read_weights(folder)}]

    async def differing(self, folder: Path) -> list[str]:
        return []

    async def sleep(self) -> None:
        self.log.append(f"sleep {self.number}")

    async def close(self) -> None:
        self.log.append(f"close {self.number}")


class Copies(ReplicaEngine):
    """Two copies; `trouble` is raised instead of starting."""

    def __init__(self, *, trouble: Exception | None = None, **settings: Any) -> None:
        defaults = {"context_length": None, "sleep": False, "transfer_folder": None}
        super().__init__(name="the copies", reply_timeout_s=20.0, **{**defaults, **settings})
        self.log: list[Any] = []
        self.copies: list[Copy] = []
        self._trouble = trouble

    async def _start(self, policy: Policy, folder: Path, context_length: int) -> list[Replica]:
        if self._trouble is not None:
            raise self._trouble
        self.copies = [Copy(1, self.log), Copy(2, self.log)]
        return list[Replica](self.copies)


@pytest.fixture
def policy() -> Policy:
    return Policy(tiny_model())


@pytest.fixture
def make() -> Iterator[Callable[..., Copies]]:
    made: list[Copies] = []

    def make(**settings: Any) -> Copies:
        made.append(Copies(**settings))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def request(key: object, **params: Any) -> GenerationRequest:
    return GenerationRequest(key=key, prompt_ids=(5, 6), params=SamplingParams(**params), seed=3)


def test_requests_go_where_the_fewest_are_in_flight(make, policy: Policy):
    """The first copy is held back with one request, so the second gets all that follow singly."""
    engine = make()
    engine.sync_weights(policy, 7)
    engine.copies[0].hold.clear()
    engine.submit([request("a")])
    replies = [engine.generate([request(i)])[0] for i in range(3)]
    assert [reply.token_ids for reply in replies] == [(2,), (2,), (2,)]
    assert all(reply.policy_version == 7 for reply in replies)
    engine.copies[1].hold.clear()
    engine.log.clear()
    engine.submit([request("b"), request("c"), request("d")])
    while len(engine.log) < 3:
        pass
    assert sorted(engine.log) == [("b", 2), ("c", 1), ("d", 2)]


def test_everything_about_sampling_is_told(make, policy: Policy):
    """Nothing is left to a server's defaults; the limit is what the context leaves."""
    engine = make(context_length=20)
    engine.bind(tiny_tokenizer())
    engine.sync_weights(policy, 0)
    engine.generate([request("a", temperature=0.0, top_p=0.5, top_k=4, stop=["x"])])
    fields = next(copy.fields for copy in engine.copies if copy.fields)
    assert fields == {
        "temperature": 0.0,
        "top_p": 0.5,
        "top_k": 4,
        "max_tokens": 18,
        "seed": 3,
        "stop": ["x"],
        "stop_token_ids": [tiny_tokenizer().eos_token_id],
        "ignore_eos": True,
        "include_stop_str_in_output": True,
        "skip_special_tokens": False,
    }


def test_copies_sleep_between_rollout_and_sync(make, policy: Policy):
    engine = make(sleep=True)
    engine.sleep()  # before there is anything to put to sleep
    engine.sync_weights(policy, 1)
    engine.log.clear()
    engine.sleep()
    engine.sleep()
    assert engine.log == ["sleep 1", "sleep 2"]
    with pytest.raises(EngineError, match="sleeps: call sync_weights"):
        engine.submit([request("a")])
    engine.sync_weights(policy, 2)
    assert engine.generate([request("a")])[0].policy_version == 2


def test_nothing_sleeps_unless_set(make, policy: Policy):
    engine = make()
    engine.sync_weights(policy, 1)
    engine.sleep()
    assert "sleep 1" not in engine.log


def test_a_failed_start_leaves_nothing_and_may_be_tried_again(make, policy: Policy, tmp_path: Path):
    engine = make(trouble=EngineError("no"), transfer_folder=str(tmp_path))
    with pytest.raises(EngineError, match="no"):
        engine.sync_weights(policy, 1)
    assert not list(tmp_path.iterdir())
    engine._trouble = None
    engine.sync_weights(policy, 1)
    assert engine.generate([request("a")])[0].policy_version == 1


def test_wrong_weights_end_the_engine(make, policy: Policy, monkeypatch):
    """A copy that forgets to load what it was given is closed with the others."""
    engine = make()
    engine.sync_weights(policy, 1)

    async def forget(folder: Path) -> list[dict[str, int]]:
        return [{name: checksum(tensor) for name, tensor in read_weights(folder)}]

    monkeypatch.setattr(engine.copies[1], "load", forget)
    policy.model.model.embed_tokens.weight.data.mul_(3.0)
    with pytest.raises(EngineError, match=r"After sync 2 .*log-probabilities differ"):
        engine.sync_weights(policy, 2)
    assert engine.log[-2:] == ["close 1", "close 2"]
    with pytest.raises(EngineError, match="call sync_weights first"):
        engine.submit([request("a")])


def test_impossible_settings_are_named(make, policy: Policy):
    with pytest.raises(ConfigError, match="context_length of at least 2"):
        make(context_length=1)
    with pytest.raises(EngineError, match="context_length 9999 exceeds the model's 2048"):
        make(context_length=9999).sync_weights(policy, 0)
    with pytest.raises(EngineError, match="Wrap the model"):
        make().sync_weights(policy.model, 0)


def test_a_trusted_engine_is_compared_now_and_then(make, policy: Policy, monkeypatch):
    """Always at the first three syncs, then at every fourth one, counted from the first."""
    asked: list[int] = []
    monkeypatch.setattr(weight_proof, "check_arrival", lambda version, **_: asked.append(version))
    engine = make(check_every=4)
    for version in range(10):
        engine.sync_weights(policy, version)
    assert asked == [0, 0, 1, 1, 2, 2, 4, 4, 8, 8]  # two copies each
    with pytest.raises(ConfigError, match="check_every of at least 1"):
        make(check_every=0)
