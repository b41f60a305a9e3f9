"""Requests answered by coroutines in another thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

from sampo.episode import Completion, FinishReason
from sampo.errors import EngineError
from sampo.rollout.engine import GenerationRequest, SamplingParams
from sampo.rollout.request_pool import RequestPool


def request(key: object, session: object = None) -> GenerationRequest:
    return GenerationRequest(
        key=key, prompt_ids=(1,), params=SamplingParams(), seed=0, session=session
    )


def reply(version: int = 0) -> Completion:
    return Completion(
        token_ids=(7,), logprobs=(-1.0,), finish_reason=FinishReason.STOP, policy_version=version
    )


class Answers:
    """Answers a request once its key is released."""

    def __init__(self) -> None:
        self.version = 0
        self.started: list[object] = []
        self.cancelled: list[object] = []
        self._released: dict[object, threading.Event] = {}

    def released(self, key: object) -> threading.Event:
        return self._released.setdefault(key, threading.Event())

    async def __call__(self, asked: GenerationRequest) -> Completion:
        version = self.version
        self.started.append(asked.key)
        try:
            while not self.released(asked.key).is_set():
                await asyncio.sleep(0.001)
        except asyncio.CancelledError:
            self.cancelled.append(asked.key)
            raise
        if asked.key == "broken":
            raise EngineError("it broke")
        return reply(version)


async def nothing() -> None:
    pass


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def make_pool(answers: Answers) -> Iterator[Callable[..., RequestPool]]:
    pools: list[RequestPool] = []

    def make(timeout_s: float = 10.0) -> RequestPool:
        pools.append(RequestPool(answers, timeout_s=timeout_s, name="the test"))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close(nothing())


def test_replies_come_as_they_finish(make_pool, answers: Answers):
    """Asked a, b, c; answered c, then a and b."""
    pool = make_pool()
    pool.submit([request("a"), request("b"), request("c")])
    answers.released("c").set()
    assert pool.collect() == [("c", reply())]
    assert pool.keys == {"a", "b"}
    answers.released("a").set()
    answers.released("b").set()
    seen = dict(pool.collect())
    while len(seen) < 2:
        seen.update(pool.collect())
    assert set(seen) == {"a", "b"}
    assert pool.collect() == []


def test_a_failure_reaches_whoever_collects(make_pool, answers: Answers):
    pool = make_pool()
    pool.submit([request("broken")])
    answers.released("broken").set()
    with pytest.raises(EngineError, match="it broke"):
        pool.collect()


def test_cancelled_requests_are_cancelled_where_they_run(make_pool, answers: Answers):
    pool = make_pool()
    pool.submit([request("a", session=1), request("b", session=2), request("c")])
    while len(answers.started) < 3:
        pass
    pool.cancel(1)
    answers.released("b").set()
    answers.released("c").set()
    seen = dict(pool.collect())
    while len(seen) < 2:
        seen.update(pool.collect())
    assert set(seen) == {"b", "c"} and answers.cancelled == ["a"]
    assert pool.collect() == []


def test_no_session_is_no_session_to_cancel(make_pool, answers: Answers):
    pool = make_pool()
    pool.submit([request("a")])
    pool.cancel(None)
    answers.released("a").set()
    assert pool.collect() == [("a", reply())]


def test_quiet_waits_for_what_runs_and_holds_back_what_comes(make_pool, answers: Answers):
    """A reply is of the version it began with, however the change of version falls."""
    pool = make_pool()
    pool.submit([request("old")])
    while not answers.started:
        pass
    threading.Timer(0.05, answers.released("old").set).start()
    with pool.quiet():
        pool.submit([request("new")])
        answers.released("new").set()
        assert pool.collect() == [("old", reply(0))]
        assert answers.started == ["old"]
        answers.version = 1
    assert pool.collect() == [("new", reply(1))]


def test_silence_is_an_error(make_pool):
    pool = make_pool(timeout_s=0.05)
    pool.submit([request("a")])
    with pytest.raises(EngineError, match=r"the test has answered nothing for 0.05 s, with 1"):
        pool.collect()
    with pytest.raises(EngineError, match="reply_timeout_s"), pool.quiet():
        pass
