"""The engine of served models, against a real HTTP server on loopback."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from openai_server import RIGHT, Answer, Server, refusal, reply, running
from sampo.episode import Completion, FinishReason
from sampo.errors import ConfigError, EngineError
from sampo.rollout.engine import GenerationRequest, SamplingParams
from sampo.rollout.openai_engine import OpenAIEngine
from sampo.rollout.pace import RequestLimits
from sampo.rollout.served_usage import Prices
from tiny import save_tiny_policy, tiny_model

KEY = "sk-secret-0123456789"
QUICK = RequestLimits(first_wait_s=0.01, max_retries=2, timeout_s=5.0)


def request(key: Any = 0, text: str = "at 1 door 4", **params: Any) -> GenerationRequest:
    session = params.pop("session", None)
    return GenerationRequest(
        key=key,
        prompt_ids=(),
        params=SamplingParams(**params),
        seed=7 + 2**40,
        session=session,
        messages=({"role": "user", "content": text},),
    )


def engine(server: Server, **settings: Any) -> OpenAIEngine:
    return OpenAIEngine(
        **{"model": "tiny", "base_url": server.url, "limits": QUICK, **settings},
    )


def ask(server: Server, *requests: GenerationRequest, **settings: Any) -> list[Completion]:
    """Return the replies to some requests, and close the engine."""
    made = engine(server, **settings)
    try:
        return made.generate(requests or [request()])
    finally:
        made.close()


def error(server: Server, **settings: Any) -> str:
    with pytest.raises(EngineError) as caught:
        ask(server, **settings)
    return str(caught.value)


@pytest.fixture
def echo() -> Iterator[Server]:
    """A server that says what it was asked."""
    with running(lambda _, body: reply(body["messages"][-1]["content"])) as server:
        yield server


def after(failures: list[Answer], then: str = RIGHT) -> Any:
    """Return a handler that fails in the given ways first."""
    left = list(failures)
    return lambda *_: left.pop(0) if left else reply(then)


def test_text_comes_back_without_ids_and_with_the_servers_count(echo: Server) -> None:
    assert ask(echo) == [
        Completion(
            token_ids=(),
            logprobs=(),
            finish_reason=FinishReason.STOP,
            policy_version=0,
            text="at 1 door 4",
            num_tokens=3,
        )
    ]


def test_replies_come_in_order_whatever_the_server_does(echo: Server) -> None:
    requests = [request(key, f"number {key}") for key in range(200)]
    assert [r.text for r in ask(echo, *requests)] == [f"number {key}" for key in range(200)]


def test_sampling_is_sent_in_the_servers_words(echo: Server) -> None:
    ask(echo, request(temperature=0.5, top_p=0.9, top_k=5, max_new_tokens=11))
    ask(echo, body={"max_tokens": None, "max_completion_tokens": 9, "seed": 1})
    messages = [{"role": "user", "content": "at 1 door 4"}]
    assert echo.asked == [
        {
            "model": "tiny",
            "messages": messages,
            "temperature": 0.5,
            "top_p": 0.9,
            "top_k": 5,
            "max_tokens": 11,
            "seed": 7,  # of 7 + 2**40, its lowest 31 bits
        },
        {
            "model": "tiny",
            "messages": messages,
            "temperature": 1.0,
            "max_completion_tokens": 9,
            "seed": 1,
        },
    ]
    assert echo.paths == ["/v1/chat/completions"] * 2


def test_completions_send_the_text_that_the_chat_template_makes(tmp_path: Any) -> None:
    policy = save_tiny_policy(tmp_path)
    text = {"choices": [{"text": "left", "finish_reason": "length"}]}
    with running(lambda *_: Answer(text)) as server:
        (said,) = ask(server, mode="completions", tokenizer=policy)
    assert server.paths == ["/v1/completions"]
    prompt = "<|im_start|>user\nat 1 door 4<|im_end|>\n<|im_start|>assistant\n"
    assert server.asked[0]["prompt"] == prompt
    assert (said.text, said.finish_reason, said.num_tokens) == ("left", FinishReason.LENGTH, None)


def test_a_stop_string_ends_the_reply_and_stays_in_it(echo: Server) -> None:
    (said,) = ask(echo, request(text="a <end> b <stop>", stop=("<stop>", "<end>")))
    assert said.text == "a <end>"
    assert "stop" not in echo.asked[0]


@pytest.mark.parametrize(
    ("content", "finish", "expected"),
    [(None, "stop", FinishReason.STOP), ("", "content_filter", FinishReason.ABORT)],
)
def test_an_empty_reply_is_a_reply(content: Any, finish: str, expected: FinishReason) -> None:
    with running(lambda *_: reply(content, finish)) as server:
        (said,) = ask(server)
    assert (said.text, said.finish_reason) == ("", expected)


def test_no_more_requests_at_once_than_allowed() -> None:
    def slow(*_: Any) -> Answer:
        return Answer(reply("x").body, after_s=0.02)

    limits = RequestLimits(max_concurrent=3)
    with running(slow) as server:
        ask(server, *[request(key) for key in range(12)], limits=limits)
    assert server.most_at_once == 3


def test_requests_per_minute_space_them_out(echo: Server) -> None:
    limits = RequestLimits(requests_per_minute=1200)  # one every 50 ms
    ask(echo, *[request(key) for key in range(5)], limits=limits)
    gaps = [b - a for a, b in zip(echo.times, echo.times[1:], strict=False)]
    assert min(gaps) > 0.04


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_passing_troubles_are_tried_again(status: int) -> None:
    with running(after([refusal(status, "busy")] * 2)) as server:
        made = engine(server)
        assert made.generate([request()])[0].text == RIGHT
        made.close()
    assert made.usage()["requests"] == 3
    assert made.usage()["requests_without_reply"] == 2


def test_lasting_troubles_end_it_and_are_quoted() -> None:
    with running(lambda *_: refusal(503, "no GPU today")) as server:
        message = error(server)
    assert message == (
        f"The server at {server.url} answers 503: no GPU today. Gave up after 3 tries."
    )
    assert len(server.asked) == 3


def test_the_server_says_how_long_to_wait() -> None:
    """And nobody else disturbs it meanwhile."""
    with running(after([refusal(429, "slow down", Retry_After="1")])) as server:
        made = engine(server)
        made.submit([request(1)])
        time.sleep(0.2)
        made.submit([request(2)])
        heard = made.collect() + made.collect()
        made.close()
    assert {key for key, _ in heard} == {1, 2}
    assert len(server.times) == 3
    assert server.times[1] - server.times[0] > 0.9


def test_a_server_that_wants_too_long_a_rest_ends_it() -> None:
    with running(lambda *_: refusal(429, "tomorrow", Retry_After="86400")) as server:
        message = error(server)
    assert "429: tomorrow" in message and "86400 s" in message
    assert len(server.asked) == 1


def test_a_spent_quota_is_not_asked_again() -> None:
    with running(lambda *_: refusal(429, "pay first", "insufficient_quota")) as server:
        assert "429: pay first" in error(server)
    assert len(server.asked) == 1


def test_a_server_that_hangs() -> None:
    limits = RequestLimits(timeout_s=0.1, max_retries=1, first_wait_s=0.01)
    with running(lambda *_: Answer({}, after_s=1.0)) as server:
        message = error(server, limits=limits)
    assert "did not answer within 0.1 s. Gave up after 2 tries." in message


def test_no_server(unused_url: str = "http://127.0.0.1:9/v1") -> None:
    with pytest.raises(EngineError, match=r"127\.0\.0\.1:9/v1 cannot be reached .*after 3 tries"):
        ask(Server(url=unused_url))


def test_a_wrong_model_is_told_with_those_that_are_there() -> None:
    with running(lambda *_: refusal(404, "no such model")) as server:
        message = error(server, model="tinny")
    assert "has no model 'tinny'. Did you mean 'tiny'? It has tiny, tiny-large." in message


def test_a_wrong_path_is_not_taken_for_a_wrong_model() -> None:
    with running(lambda *_: Answer("page not found", status=404)) as server:
        message = error(server)
    assert "(404) page not found" in message and "/v1" in message


def test_something_else_than_a_model_server() -> None:
    with running(lambda *_: Answer("<html>hello</html>")) as server:
        assert "not as an OpenAI-compatible one does: '<html>hello</html>'" in error(server)
    with running(lambda *_: Answer({"object": "list"})) as server:
        assert "has no text in it" in error(server)


def test_the_proxy_of_the_environment_is_used(
    echo: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To a proxy the whole URL is the path of the request; our server takes any path below /v1."""
    monkeypatch.setenv("http_proxy", echo.url.removesuffix("/v1"))
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert ask(Server(url="http://models.invalid/v1"))[0].text == "at 1 door 4"
    monkeypatch.setenv("no_proxy", "models.invalid")
    assert "cannot be reached" in error(Server(url="http://models.invalid/v1"))


def test_a_redirect_is_not_followed_because_the_key_would_go_along() -> None:
    with running(lambda *_: Answer("moved", 307, {"Location": "http://127.0.0.1:9/"})) as server:
        assert "(307) moved" in error(server)


def test_a_prompt_that_is_too_long_ends_with_context() -> None:
    says = "This model's maximum context length is 2048 tokens."
    with running(lambda *_: refusal(400, says)) as server:
        (said,) = ask(server)
    assert (said.finish_reason, said.text) == (FinishReason.CONTEXT, says)


def test_the_key_goes_to_the_server_and_nowhere_else(
    echo: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    made = engine(echo)
    made.generate([request()])
    assert echo.keys == [f"Bearer {KEY}"]
    held = [vars(made), vars(made._client), vars(made._usage)]
    assert KEY not in repr(held)
    made.close()


def test_a_refused_key_is_not_repeated_even_if_the_server_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    leaky = refusal(401, f"Incorrect API key provided: {KEY}")
    with running(lambda *_: leaky) as server, pytest.raises(EngineError) as caught:
        ask(server, api_key_variable="MY_KEY")
    assert "Incorrect API key provided: ***" in str(caught.value)
    assert "MY_KEY, which holds the key that was sent" in str(caught.value)
    assert KEY not in str(pickle.dumps(caught.value))
    assert len(server.asked) == 1


def test_a_missing_key_is_named_where_the_server_wants_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with running(lambda *_: refusal(401, "who are you?")) as server:
        assert "OPENAI_API_KEY, which is not set" in error(server)
    assert server.keys == [None]


def test_a_key_of_two_lines_is_refused_unseen(
    echo: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\nsecond line")
    with pytest.raises(ConfigError) as caught:
        ask(echo)
    assert "OPENAI_API_KEY holds no key" in str(caught.value)
    assert KEY not in str(caught.value)


def test_the_url_may_come_from_the_environment_and_is_then_not_told(
    echo: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", echo.url)
    made = OpenAIEngine(model="tiny")
    assert made.generate([request()])[0].text == "at 1 door 4"
    assert made.served_model == "tiny at $OPENAI_BASE_URL"
    made.close()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": ""}, "Which model"),
        ({"base_url": None}, "Which server"),
        ({"base_url": "localhost:8000"}, "no URL of a server"),
        ({"base_url": f"http://me:{KEY}@localhost/v1"}, "holds a name, a password"),
        ({"base_url": f"http://localhost/v1?key={KEY}"}, "or a query"),
        ({"mode": "completions"}, "tokenizer goes with mode=completions"),
    ],
)
def test_settings_that_cannot_work(
    settings: Mapping[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ConfigError, match=message) as caught:
        OpenAIEngine(**{"model": "tiny", "base_url": "http://localhost/v1", **settings})
    assert KEY not in str(caught.value)


def test_an_ended_session_is_given_up() -> None:
    with running(lambda *_: Answer(reply("late").body, after_s=0.3)) as server:
        made = engine(server)
        made.submit([request(1, session="a"), request(2, session="b")])
        made.end_session("a")
        assert [key for key, _ in made.collect()] == [2]
        assert made.collect() == []
        made.close()


def test_one_failure_gives_up_the_rest_and_the_engine_can_go_on() -> None:
    def handle(server: Server, body: Mapping[str, Any]) -> Answer:
        if body["messages"][0]["content"] == "bad":
            return refusal(400, "bad prompt")
        return Answer(reply("good").body, after_s=0.5)

    with running(handle) as server:
        made = engine(server)
        started = time.monotonic()
        with pytest.raises(EngineError, match="bad prompt"):
            made.generate([request(1, "good"), request(2, "bad"), request(3, "good")])
        assert time.monotonic() - started < 0.4
        assert made.generate([request(1, "good")])[0].text == "good"
        made.close()


def test_a_request_needs_messages_and_a_key_of_its_own(echo: Server) -> None:
    made = engine(echo)
    with pytest.raises(EngineError, match="no messages"):
        made.submit([GenerationRequest(key=1, prompt_ids=(1,), params=SamplingParams(), seed=0)])
    with pytest.raises(EngineError, match="in flight already"):
        made.submit([request(1), request(1)])
    made.close()


def test_it_takes_no_weights(echo: Server) -> None:
    with pytest.raises(EngineError, match="takes no weights"):
        engine(echo).sync_weights(tiny_model(), 0)


def test_tokens_and_money_are_counted() -> None:
    details = {"cached_tokens": 4}
    handler = after(
        [reply("x", prompt_tokens_details=details), Answer({"choices": [{"text": ""}]})]
    )
    with running(handler) as server:
        made = engine(server, prices=Prices(prompt=2.0, completion=10.0, cached_prompt=0.5))
        for key in range(3):
            made.generate([request(key)])
        made.close()
    assert made.usage() == {
        "requests": 3,
        "requests_without_reply": 0,
        "prompt_tokens": 20,
        "cached_prompt_tokens": 4,
        "completion_tokens": 6,
        "replies_without_token_count": 1,
        # (16 x 2 + 4 x 0.5 + 6 x 10) / 1,000,000
        "cost": pytest.approx(94e-6),
    }
