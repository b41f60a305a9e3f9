"""What is special to the transformers engine: caches, limits, architectures, refusals."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn

from sampo.episode import FinishReason
from sampo.errors import ConfigError, EngineError
from sampo.rollout.engine import GenerationRequest, SamplingParams
from sampo.rollout.transformers_engine import TransformersEngine

PROMPT = tuple(range(10, 40))


class FedTokens:
    """Notes (rows, tokens per row, padding included) of every forward pass of the engine."""

    def __init__(self, bench) -> None:
        self.passes: list[tuple[int, int]] = []
        bench.policy.model.base_model.register_forward_pre_hook(self._note, with_kwargs=True)

    def _note(self, _module, _args, kwargs) -> None:
        if kwargs.get("use_cache"):  # not the plain passes that replies are compared with
            self.passes.append(tuple(kwargs["input_ids"].shape))


def test_llama_sessions_are_exact(llama_bench):
    rng = random.Random(0)
    rows = [[rng.randrange(3, 250) for _ in range(5 + 7 * i)] for i in range(5)]
    for _ in range(3):
        requests = [
            llama_bench.request(row, session=i, max_new_tokens=7) for i, row in enumerate(rows)
        ]
        for row, reply in zip(rows, llama_bench.engine.generate(requests), strict=True):
            assert llama_bench.error(row, reply) < 1e-5
            row += [*reply.token_ids, 9, 8, 7]


def test_eager_attention_is_exact_too(transformers_bench):
    bench = transformers_bench()
    bench.policy.model.set_attn_implementation("eager")
    bench.engine.sync_weights(bench.policy, 1)
    requests = [bench.request(PROMPT[: 5 + i], max_new_tokens=6) for i in range(4)]
    for request, reply in zip(requests, bench.engine.generate(requests), strict=True):
        assert bench.error(request.prompt_ids, reply) < 1e-5


def test_a_resumed_session_feeds_only_what_is_new(transformers_bench):
    """30 prompt tokens and 4 reply tokens, of which the last was never fed: 30 + 3 cached."""
    bench = transformers_bench(endless=True)
    fed = FedTokens(bench)
    reply = bench.engine.generate([bench.request(PROMPT, session=1, max_new_tokens=4)])[0]
    assert fed.passes == [(1, 30), (1, 1), (1, 1), (1, 1)]
    fed.passes.clear()
    longer = (*PROMPT, *reply.token_ids, 50, 51)
    bench.engine.generate([bench.request(longer, session=1, max_new_tokens=1)])
    assert fed.passes == [(1, 3)]
    fed.passes.clear()
    bench.engine.end_session(1)
    bench.engine.generate([bench.request(longer, session=1, max_new_tokens=1)])
    assert fed.passes == [(1, 36)]


def test_a_departing_prompt_keeps_the_common_prefix(transformers_bench):
    bench = transformers_bench()
    fed = FedTokens(bench)
    bench.engine.generate([bench.request(PROMPT, session=1, max_new_tokens=1)])
    bench.engine.generate([bench.request((*PROMPT[:20], 99, 98), session=1, max_new_tokens=1)])
    assert fed.passes == [(1, 30), (1, 2)]


def test_a_repeated_prompt_feeds_its_last_token_again(transformers_bench):
    bench = transformers_bench()
    fed = FedTokens(bench)
    for _ in range(2):
        reply = bench.engine.generate([bench.request(PROMPT, session=1, max_new_tokens=1)])[0]
        assert bench.error(PROMPT, reply) < 1e-5
    assert fed.passes == [(1, 30), (1, 1)]


def test_a_group_feeds_its_common_prompt_once(transformers_bench):
    bench = transformers_bench()
    fed = FedTokens(bench)
    requests = [bench.request(PROMPT, session=i, max_new_tokens=6) for i in range(8)]
    requests += [bench.request(PROMPT[:9], session=9, max_new_tokens=6)]
    replies = bench.engine.generate(requests)
    assert fed.passes[0] == (2, 30)
    assert len({reply.token_ids for reply in replies[:8]}) > 4
    for request, reply in zip(requests, replies, strict=True):
        assert bench.error(request.prompt_ids, reply) < 1e-5


def test_finished_rows_leave_the_batch(transformers_bench):
    bench = transformers_bench(return_share=1.0, endless=True)
    fed = FedTokens(bench)
    rows = [(10 + i, 5, 6) for i in range(4)]
    bench.engine.generate(
        [bench.request(row, max_new_tokens=n) for row, n in zip(rows, (1, 2, 2, 4), strict=True)]
    )
    assert fed.passes == [(4, 3), (3, 1), (1, 1), (1, 1)]


def test_max_batch_and_prefill_tokens_bound_the_passes(transformers_bench):
    bench = transformers_bench(max_batch=4, prefill_tokens=40)
    fed = FedTokens(bench)
    rows = [tuple(range(5 + i, 5 + 3 * i + 4)) for i in range(10)]
    requests = [bench.request(row, max_new_tokens=3) for row in rows]
    for request, reply in zip(requests, bench.engine.generate(requests), strict=True):
        assert bench.error(request.prompt_ids, reply) < 1e-5
    assert max(rows for rows, _ in fed.passes) <= 4
    assert max(rows * width for rows, width in fed.passes) <= 40


def test_parked_sessions_are_forgotten_oldest_first(transformers_bench):
    """A table row has 128 columns here, so 512 tokens are four rows."""
    bench = transformers_bench(max_cache_tokens=512)
    for session in range(6):
        bench.engine.generate([bench.request(PROMPT, session=session, max_new_tokens=1)])
    fed = FedTokens(bench)
    for session in (5, 0):
        bench.engine.generate([bench.request(PROMPT, session=session, max_new_tokens=1)])
    assert fed.passes == [(1, 1), (1, 30)]


def test_a_small_cache_delays_rows_but_serves_them(transformers_bench):
    bench = transformers_bench(max_cache_tokens=256)
    fed = FedTokens(bench)
    requests = [bench.request(PROMPT[i:], session=i, max_new_tokens=5) for i in range(7)]
    for request, reply in zip(requests, bench.engine.generate(requests), strict=True):
        assert bench.error(request.prompt_ids, reply) < 1e-5
    assert max(rows for rows, _ in fed.passes) == 2


def test_replies_end_at_the_context_length(transformers_bench):
    bench = transformers_bench(context_length=34, endless=True)
    reply = bench.engine.generate([bench.request(PROMPT, max_new_tokens=50)])[0]
    assert len(reply.token_ids) == 4 and reply.finish_reason is FinishReason.LENGTH
    with pytest.raises(EngineError, match="context of 34"):
        bench.engine.submit([bench.request(range(3, 37))])


def test_random_traffic_stays_exact(transformers_bench):
    """Sessions that start, go on, depart and end in random order, in a small table."""
    rng = random.Random(3)
    bench = transformers_bench(max_batch=6, max_cache_tokens=1536, return_share=0.3)
    rows: dict[int, list[int]] = {}
    flying: dict[int, tuple[list[int], int]] = {}
    checked = 0
    for event in range(60):
        for session in range(9):
            if session in {s for _, s in flying.values()} or rng.random() < 0.4:
                continue
            if rng.random() < 0.15:
                bench.engine.end_session(session)
                rows.pop(session, None)
            row = rows.get(session, [])[: 120 if rng.random() < 0.9 else 10]
            row = row + [rng.randrange(3, 250) for _ in range(rng.randint(1, 30))]
            key = 1000 * event + session
            request = bench.request(
                row, key=key, session=session, max_new_tokens=rng.randint(1, 12)
            )
            bench.engine.submit([request])
            flying[key] = (row, session)
        for key, reply in bench.engine.collect():
            row, session = flying.pop(key)
            rows[session] = [*row, *reply.token_ids]
            if rng.random() < 0.3:
                assert bench.error(row, reply) < 1e-5
                checked += 1
    assert checked > 40


def test_ending_a_session_cancels_its_request(transformers_bench):
    bench = transformers_bench(max_batch=2)
    for session in range(4):
        bench.engine.submit(
            [bench.request(PROMPT[session:], key=session, session=session, max_new_tokens=20)]
        )
    first = bench.engine.collect()
    left = [session for session in range(4) if session not in dict(first)]
    bench.engine.end_session(left[0])
    bench.engine.end_session(left[-1])
    seen = []
    while finished := bench.engine.collect():
        seen += [key for key, _ in finished]
    assert sorted(seen) == left[1:-1]


def test_changed_weights_without_a_sync_are_refused(transformers_bench):
    bench = transformers_bench()
    with torch.no_grad():
        next(bench.policy.parameters()).mul_(1.0)
    with pytest.raises(EngineError, match="changed after they were synced as version 3"):
        bench.engine.generate([bench.request(PROMPT)])


class TestRefusals:
    def test_no_weights(self):
        request = GenerationRequest(key=1, prompt_ids=(5,), params=SamplingParams(), seed=0)
        with pytest.raises(EngineError, match="sync_weights first"):
            TransformersEngine().submit([request])

    def test_a_bare_module(self):
        with pytest.raises(EngineError, match=r"Policy\(model\)"):
            TransformersEngine().sync_weights(nn.Linear(1, 1), 0)

    def test_sliding_windows(self, transformers_bench):
        bench = transformers_bench()
        bench.policy.model.config.layer_types = ["sliding_attention", "full_attention"]
        with pytest.raises(EngineError, match="sliding_attention"):
            bench.engine.sync_weights(bench.policy, 1)

    def test_attention_without_masks(self, transformers_bench):
        bench = transformers_bench()
        bench.policy.model.config._attn_implementation = "flash_attention_2"
        with pytest.raises(EngineError, match="attn_implementation: sdpa"):
            bench.engine.sync_weights(bench.policy, 1)

    def test_a_context_beyond_the_model(self, transformers_bench):
        with pytest.raises(EngineError, match="exceeds the model's 2048"):
            transformers_bench(context_length=4096)

    def test_stop_strings_without_a_tokenizer(self, transformers_bench):
        bench = transformers_bench()
        engine = TransformersEngine()
        engine.sync_weights(bench.policy, 0)
        with pytest.raises(EngineError, match="no tokenizer"):
            engine.submit([bench.request(PROMPT, stop=["x"])])

    def test_senseless_settings(self):
        with pytest.raises(ConfigError, match="return_share"):
            TransformersEngine(return_share=1.5)
