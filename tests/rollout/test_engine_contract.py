"""What every rollout engine must do (see `ENGINES` in conftest.py)."""

from __future__ import annotations

import copy
import math
import random
from collections import Counter

import pytest
import torch

from sampo.episode import FinishReason
from sampo.errors import EngineError, SampoError

PROMPT = (5, 17, 120, 44, 8)


def prompts(count: int, shortest: int, longest: int, seed: int = 0) -> list[list[int]]:
    rng = random.Random(seed)
    return [
        [rng.randrange(3, 250) for _ in range(rng.randint(shortest, longest))] for _ in range(count)
    ]


def test_one_finite_logprob_per_token_and_the_version(any_bench):
    requests = [any_bench.request(prompt, max_new_tokens=9) for prompt in prompts(6, 1, 30)]
    for completion in any_bench.engine.generate(requests):
        assert 1 <= len(completion.token_ids) <= 9
        assert len(completion.logprobs) == len(completion.token_ids)
        assert all(math.isfinite(value) and value <= 0 for value in completion.logprobs)
        assert completion.policy_version == 3


def test_replies_are_in_the_order_of_the_requests(any_bench):
    """Whoever ends first: limits of 1 to 12 tokens, each reply within its own."""
    limits = [12, 1, 7, 3, 9, 2, 5]
    requests = [any_bench.request(PROMPT, max_new_tokens=limit) for limit in limits]
    replies = any_bench.engine.generate(requests)
    for limit, reply in zip(limits, replies, strict=True):
        ended = reply.token_ids[-1] == any_bench.end_id
        assert ended == (reply.finish_reason is FinishReason.STOP)
        assert len(reply.token_ids) == limit or (ended and len(reply.token_ids) < limit)


@pytest.mark.parametrize("temperature", [1.0, 0.6, 1.4])
def test_logprobs_are_those_of_a_plain_forward_pass(bench, temperature: float):
    requests = [
        bench.request(prompt, max_new_tokens=12, temperature=temperature)
        for prompt in prompts(8, 1, 40)
    ]
    for request, completion in zip(requests, bench.engine.generate(requests), strict=True):
        assert bench.error(request.prompt_ids, completion, temperature) < bench.precision


def test_sessions_of_many_turns_are_exact(bench):
    """Every turn of ragged conversations equals a forward pass of its whole prefix."""
    rows = prompts(7, 5, 25)
    turns = [prompts(7, 1, 20, seed=turn) for turn in range(1, 5)]
    for turn in range(5):
        requests = [
            bench.request(row, max_new_tokens=4 + 3 * (index % 3), session=index)
            for index, row in enumerate(rows)
        ]
        completions = bench.engine.generate(requests)
        for index, completion in enumerate(completions):
            assert bench.error(rows[index], completion) < bench.precision
            rows[index] += list(completion.token_ids)
            if turn < 4:
                rows[index] += turns[turn][index]
        if turn == 1:
            bench.engine.end_session(3)


def test_a_session_whose_prompt_departs_is_exact(bench):
    first = prompts(1, 20, 20)[0]
    bench.engine.generate([bench.request(first, session="a", max_new_tokens=5)])
    for prompt in (first[:8] + [9, 9, 9], first[:3], [7], first + first):
        request = bench.request(prompt, session="a", max_new_tokens=6)
        assert bench.error(prompt, bench.engine.generate([request])[0]) < bench.precision


def test_a_reply_is_a_function_of_its_seed(bench):
    """Alone, in company, in another order, and beside its twins: the same tokens."""
    rows = prompts(6, 3, 20)

    def ask(order: list[int]) -> dict[int, tuple[int, ...]]:
        requests = [bench.request(rows[i], seed=100 + i, max_new_tokens=10) for i in order]
        replies = bench.engine.generate(requests)
        return {i: reply.token_ids for i, reply in zip(order, replies, strict=True)}

    together = ask([0, 1, 2, 3, 4, 5])
    assert ask([5, 3, 1, 0, 2, 4]) == together
    for index in range(6):
        assert ask([index]) == {index: together[index]}


def test_seeds_differ_and_equal_seeds_agree(bench):
    requests = [bench.request(PROMPT, seed=i // 2, max_new_tokens=8) for i in range(20)]
    replies = [reply.token_ids for reply in bench.engine.generate(requests)]
    assert replies[0::2] == replies[1::2]
    assert len(set(replies)) > 5


def test_temperature_zero_is_the_likeliest_token_whatever_the_seed(bench):
    requests = [bench.request(PROMPT, temperature=0.0, max_new_tokens=6) for _ in range(3)]
    first, *others = bench.engine.generate(requests)
    assert all(other == first for other in others)
    plain = bench.plain_logprobs(PROMPT, first.token_ids)
    assert tuple(plain.argmax(-1).tolist()) == first.token_ids
    assert first.logprobs == (0.0,) * len(first.token_ids)


def test_top_k_is_renormalised(bench):
    requests = [bench.request(PROMPT, top_k=3, max_new_tokens=4) for _ in range(40)]
    for completion in bench.engine.generate(requests):
        plain = bench.plain_logprobs(PROMPT, completion.token_ids)
        for token, logprob, row in zip(
            completion.token_ids, completion.logprobs, plain, strict=True
        ):
            best = row.topk(3)
            assert token in best.indices.tolist()
            expected = row[token] - best.values.logsumexp(-1)
            assert logprob == pytest.approx(expected.item(), abs=bench.precision)


def test_top_p_is_renormalised(bench):
    requests = [
        bench.request(PROMPT, top_p=0.6, temperature=1.3, max_new_tokens=4) for _ in range(40)
    ]
    for completion in bench.engine.generate(requests):
        plain = bench.plain_logprobs(PROMPT, completion.token_ids, temperature=1.3)
        for token, logprob, row in zip(
            completion.token_ids, completion.logprobs, plain, strict=True
        ):
            ordered, order = row.sort(descending=True)
            count = int((ordered.exp().cumsum(-1) < 0.6).sum()) + 1
            assert token in order[:count].tolist()
            expected = row[token] - ordered[:count].logsumexp(-1)
            assert logprob == pytest.approx(expected.item(), abs=bench.precision)


def test_samples_follow_the_distribution(bench):
    """Chi-square over the 12 likeliest tokens and the rest, 4000 fixed seeds, one step.

    With 12 degrees of freedom the 99.9 % quantile is 32.9.
    """
    count = 4000
    requests = [bench.request(PROMPT, seed=i, max_new_tokens=1) for i in range(count)]
    seen = Counter(reply.token_ids[0] for reply in bench.engine.generate(requests))
    probs = bench.plain_logprobs(PROMPT, (0,))[0].exp()
    best = probs.topk(12)
    expected = [count * p for p in best.values.tolist()]
    observed = [seen[token] for token in best.indices.tolist()]
    expected.append(count - sum(expected))
    observed.append(count - sum(observed))
    chi_square = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    assert chi_square < 32.9


def test_the_models_stored_generation_defaults_do_not_leak(bench):
    bench.policy.model.generation_config.top_k = 1
    bench.policy.model.generation_config.do_sample = True
    bench.policy.model.generation_config.temperature = 0.01
    bench.engine.sync_weights(bench.policy, 4)
    replies = bench.engine.generate([bench.request(PROMPT, max_new_tokens=1) for _ in range(50)])
    assert len({reply.token_ids for reply in replies}) > 3


def test_the_token_limit(any_bench):
    reply = any_bench.engine.generate([any_bench.request(PROMPT, max_new_tokens=1)])[0]
    assert len(reply.token_ids) == 1
    if reply.token_ids[0] != any_bench.end_id:
        assert reply.finish_reason is FinishReason.LENGTH


def test_an_end_token_ends_the_reply_and_is_part_of_it(bench):
    """With the end token made likely, replies end there; one may be nothing but the end."""
    with torch.no_grad():
        hidden = bench.policy.hidden_states(torch.tensor([PROMPT]))[0, -1]
        bench.policy.head_weight[bench.end_id] = hidden
    bench.engine.sync_weights(bench.policy, 4)
    requests = [bench.request(PROMPT, max_new_tokens=30) for _ in range(20)]
    requests.append(bench.request(PROMPT, max_new_tokens=30, temperature=0.0))
    replies = bench.engine.generate(requests)
    assert replies[-1].token_ids == (bench.end_id,)
    assert replies[-1].finish_reason is FinishReason.STOP
    for reply in replies:
        ended = reply.token_ids[-1] == bench.end_id
        assert ended == (reply.finish_reason is FinishReason.STOP)
        assert bench.end_id not in reply.token_ids[:-1]
        assert ended or len(reply.token_ids) == 30


def test_stop_strings(bench):
    """A stop string that is found in an unrestricted reply cuts it right behind its last token."""
    free = bench.engine.generate([bench.request(PROMPT, seed=1, max_new_tokens=24)])[0]
    text = bench.tokenizer.decode(free.token_ids[8:12])
    reply = bench.engine.generate(
        [bench.request(PROMPT, seed=1, max_new_tokens=24, stop=["never there", text])]
    )[0]
    assert reply.finish_reason is FinishReason.STOP
    assert reply.token_ids == free.token_ids[: len(reply.token_ids)]
    assert len(reply.token_ids) <= 12
    assert text in bench.tokenizer.decode(reply.token_ids)
    assert text not in bench.tokenizer.decode(reply.token_ids[:-1])


def test_many_ragged_requests_at_once(bench):
    rng = random.Random(5)
    requests = [
        bench.request(prompt, max_new_tokens=rng.randint(1, 20), session=index)
        for index, prompt in enumerate(prompts(300, 1, 60))
    ]
    replies = bench.engine.generate(requests)
    assert len(replies) == 300
    for index in range(0, 300, 17):
        request, reply = requests[index], replies[index]
        assert len(reply.token_ids) <= request.params.max_new_tokens
        assert bench.error(request.prompt_ids, reply) < bench.precision


def test_requests_may_join_while_others_run(bench):
    long = bench.request(PROMPT, key="long", max_new_tokens=40, seed=7)
    alone = bench.engine.generate([long])[0]
    short = [bench.request(row, key=i, max_new_tokens=2) for i, row in enumerate(prompts(6, 2, 9))]
    bench.engine.submit([long, *short[:3]])
    seen = dict(bench.engine.collect())
    bench.engine.submit(short[3:])
    while len(seen) < 7:
        finished = bench.engine.collect()
        assert finished
        seen.update(finished)
    assert seen["long"].token_ids == alone.token_ids
    assert bench.engine.collect() == []


def test_new_weights_mean_new_replies(bench):
    """After a sync nothing of the old weights is left, neither in the weights nor in a cache."""
    row = prompts(1, 30, 30)[0]
    request = bench.request(row, session=1, max_new_tokens=5)
    row += bench.engine.generate([request])[0].token_ids
    with torch.no_grad():
        for parameter in bench.policy.parameters():
            parameter.mul_(1.2)
    bench.engine.sync_weights(bench.policy, 4)
    reply = bench.engine.generate([bench.request(row, session=1, max_new_tokens=8)])[0]
    assert reply.policy_version == 4
    assert bench.error(row, reply) < bench.precision


def test_a_reply_is_of_one_version_whatever_is_synced_meanwhile(bench):
    """Replies in flight are finished by the old weights or begun again by the new ones."""
    old = copy.deepcopy(bench.policy)
    requests = [bench.request(PROMPT, max_new_tokens=3 + 8 * (i % 2)) for i in range(8)]
    bench.engine.submit(requests)
    seen = dict(bench.engine.collect())
    with torch.no_grad():
        for parameter in bench.policy.parameters():
            parameter.mul_(1.2)
    bench.engine.sync_weights(bench.policy, 9)
    while len(seen) < 8:
        seen.update(bench.engine.collect())
    assert {request.key for request in requests} == set(seen)
    new = bench.policy
    for reply in seen.values():
        bench.policy = {3: old, 9: new}[reply.policy_version]
        assert bench.error(PROMPT, reply) < bench.precision
    bench.policy = new
    late = bench.engine.generate([bench.request(PROMPT, max_new_tokens=3)])[0]
    assert late.policy_version == 9


def test_an_ended_session_is_answered_no_more(any_bench):
    keep = any_bench.request(PROMPT, key="keep", session="a", max_new_tokens=4)
    drop = any_bench.request(PROMPT, key="drop", session="b", max_new_tokens=400)
    any_bench.engine.submit([drop, keep])
    any_bench.engine.end_session("b")
    assert [key for key, _ in any_bench.engine.collect()] == ["keep"]
    assert any_bench.engine.collect() == []


def test_a_cancelled_request_leaves_nothing_behind(bench):
    """One of two sessions in flight is ended: the other's reply comes as if alone."""
    alone = bench.engine.generate([bench.request(PROMPT, seed=5, max_new_tokens=20)])[0]
    keep = bench.request(PROMPT, key="keep", session="a", seed=5, max_new_tokens=20)
    drop = bench.request([9, 8, 7], key="drop", session="b", max_new_tokens=400)
    bench.engine.submit([drop, keep])
    bench.engine.end_session("b")
    finished = bench.engine.collect()
    assert finished == [("keep", alone)]
    assert bench.engine.collect() == []
    again = bench.request([9, 8, 7], key="drop", session="b", max_new_tokens=2)
    assert len(bench.engine.generate([again])[0].token_ids) <= 2


def test_training_mode_is_left_as_it_was(bench):
    bench.engine.generate([bench.request(PROMPT, max_new_tokens=2)])
    assert bench.policy.training and bench.policy.model.training
    bench.policy.eval()
    bench.engine.generate([bench.request(PROMPT, max_new_tokens=2)])
    assert not bench.policy.training
    assert all(parameter.requires_grad for parameter in bench.policy.parameters())


@pytest.mark.parametrize(("length", "message"), [(0, "empty prompt"), (2048, "2048 tokens")])
def test_impossible_prompts_are_named(bench, length: int, message: str):
    with pytest.raises(EngineError, match=f"'odd one'.*{message}"):
        bench.engine.submit([bench.request([5] * length, key="odd one")])


def test_a_key_in_flight_cannot_be_used_again(any_bench):
    with pytest.raises(EngineError, match="in flight"):
        any_bench.engine.submit(
            [any_bench.request(PROMPT, key=1), any_bench.request(PROMPT, key=1)]
        )


def test_ending_unknown_sessions_is_fine(any_bench):
    any_bench.engine.end_session("nobody")


def test_errors_are_sampo_errors():
    assert issubclass(EngineError, SampoError)
