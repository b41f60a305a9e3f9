"""The replies it was given, in their order; the rest of its contract is in test_engine_contract."""

from __future__ import annotations

import pytest

from sampo.episode import FinishReason
from sampo.errors import ConfigError
from sampo.rollout.engine import GenerationRequest, SamplingParams
from sampo.rollout.scripted_engine import ScriptedEngine
from tiny import tiny_tokenizer


def ask(engine: ScriptedEngine, count: int = 1, **params) -> list[tuple[str, FinishReason]]:
    requests = [
        GenerationRequest(key=i, prompt_ids=(5,), params=SamplingParams(**params), seed=0)
        for i in range(count)
    ]
    replies = engine.generate(requests)
    return [(tiny_tokenizer().decode(reply.token_ids), reply.finish_reason) for reply in replies]


@pytest.fixture
def engine() -> ScriptedEngine:
    made = ScriptedEngine(["left right", "", "up"])
    made.bind(tiny_tokenizer())
    return made


def test_replies_come_round_and_round(engine: ScriptedEngine):
    texts = [text for text, _ in ask(engine, 4)]
    assert texts == ["left right<|im_end|>", "<|im_end|>", "up<|im_end|>", "left right<|im_end|>"]


def test_a_stop_string_cuts_behind_its_last_token(engine: ScriptedEngine):
    text, reason = ask(engine, stop=["eft"])[0]
    assert reason is FinishReason.STOP
    assert text.startswith("left") and "right" not in text


def test_the_limit_cuts_before_the_end(engine: ScriptedEngine):
    text, reason = ask(engine, max_new_tokens=1)[0]
    assert reason is FinishReason.LENGTH and "left right".startswith(text)


def test_no_replies_are_refused():
    with pytest.raises(ConfigError, match="at least one"):
        ScriptedEngine([])
