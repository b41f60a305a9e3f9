"""A model behind any OpenAI-compatible server: to evaluate it, or to collect its episodes.

Messages go out and text comes back, so nothing can be trained with it. The servers of closed
models are among them, and `vllm serve`, SGLang, llama.cpp and `transformers serve`.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

from torch import nn
from transformers import PreTrainedTokenizerBase

from sampo.episode import Completion, FinishReason
from sampo.errors import ConfigError, EngineError, SampoError
from sampo.models.loading import load_tokenizer
from sampo.rollout.engine import GenerationRequest, RolloutEngine, SamplingParams
from sampo.rollout.openai_answers import Refusal, check_url, read_reply
from sampo.rollout.openai_client import OpenAIClient
from sampo.rollout.pace import RequestLimits
from sampo.rollout.request_pool import RequestPool
from sampo.rollout.served_usage import Prices, Usage

URL_VARIABLE = "OPENAI_BASE_URL"
"""Environment variable that names the server where the config does not."""
_PATHS = {"chat": "chat/completions", "completions": "completions"}
_SEEDS = 2**31
"""Some servers keep seeds in 32 bits."""


class OpenAIEngine(RolloutEngine):
    """Asks a served model for replies, many at a time.

    A reply has no token ids and no log-probabilities; its length is the server's count. Stop
    strings are applied here, to the finished text: servers leave them out of it.

    Args:
        model: its name at the server.
        base_url: of the server, up to and including `/v1`. Null: the environment variable
            `OPENAI_BASE_URL`, which is then written nowhere.
        mode: `chat` sends messages. `completions` sends the text of the prompt, for servers without
            the model's chat template.
        tokenizer: whose chat template makes that text: a Hugging Face folder or hub id.
        api_key_variable: environment variable that holds the key. It is read for every request and
            kept nowhere.
        limits: see `RequestLimits`.
        prices: per million tokens, for the cost in reports.
        body: further fields of every request, e.g. `{reasoning_effort: low}`; they replace ours,
            and null leaves a field of ours out (`{max_tokens: null, max_completion_tokens: 4096}`).
    """

    def __init__(
        self,
        *,
        model: str = "",
        base_url: str | None = None,
        mode: Literal["chat", "completions"] = "chat",
        tokenizer: str | None = None,
        api_key_variable: str = "OPENAI_API_KEY",
        limits: RequestLimits = RequestLimits(),  # noqa: B008  frozen
        prices: Prices = Prices(),  # noqa: B008  frozen
        body: dict[str, Any] | None = None,
    ) -> None:
        if not model:
            raise ConfigError("Which model? Set data.engine.init_args.model to its name there.")
        if (mode == "completions") != (tokenizer is not None):
            raise ConfigError(
                "OpenAIEngine.tokenizer goes with mode=completions, where it makes the text of a "
                f"prompt, and only there; got mode={mode} and tokenizer={tokenizer}."
            )
        url = base_url or os.environ.get(URL_VARIABLE, "")
        if not url:
            raise ConfigError(
                "Which server? Set data.engine.init_args.base_url, e.g. http://localhost:8000/v1, "
                f"or the environment variable {URL_VARIABLE}."
            )
        check_url(url)
        shown = url if base_url else f"${URL_VARIABLE}"
        self.served_model = f"{model} at {shown}"
        self._model = model
        self._mode = mode
        self._template = None if tokenizer is None else load_tokenizer(tokenizer)
        self._body = dict(body or {})
        self._usage = Usage(prices=prices)
        self._client = OpenAIClient(url, shown, api_key_variable, limits, self._usage)
        self._longest_s = limits.longest_request_s
        self._pool: RequestPool | None = None

    def sync_weights(self, policy: nn.Module, version: int) -> None:
        """Refuse.

        Raises:
            EngineError: always; the model is not ours.
        """
        raise EngineError(
            f"{self.served_model} takes no weights: OpenAIEngine is for `sampo evaluate` and "
            "`sampo collect --source policy`. Train and check with another data.engine."
        )

    def submit(self, requests: Sequence[GenerationRequest]) -> None:
        """Send requests as fast as the limits allow; returns at once.

        Raises:
            EngineError: a request has no messages, or a key that is in flight already.
        """
        if self._pool is None:
            self._pool = RequestPool(self._ask, timeout_s=self._longest_s, name="openai-engine")
        keys = self._pool.keys
        for request in requests:
            if not request.messages:
                raise EngineError(f"Request {request.key!r} has no messages for a served model.")
            if request.key in keys:
                raise EngineError(f"Request {request.key!r} has a key that is in flight already.")
            keys.add(request.key)
        self._pool.submit(requests)

    def collect(self) -> list[tuple[Hashable, Completion]]:
        """Wait for a reply and return all that are there.

        Raises:
            EngineError: the server does not answer, or refuses; all requests are given up.
            ConfigError: the key or the URL is none.
        """
        if self._pool is None:
            return []
        try:
            return self._pool.collect()
        except SampoError:
            self.close()
            raise

    def ready(self, timeout_s: float) -> bool:
        """Return whether a reply has come, waiting for one a moment."""
        return self._pool is None or self._pool.ready(timeout_s)

    def end_session(self, session: Hashable) -> None:
        """Give up what a session still waits for."""
        if self._pool is not None:
            self._pool.cancel(session)

    def close(self) -> None:
        """Give everything up and close the connections; a later request opens them again."""
        if self._pool is not None:
            self._pool.close(self._client.close())
            self._pool = None

    def usage(self) -> Mapping[str, float]:
        """Return requests, tokens and, where the prices are known, the cost."""
        return self._usage.values()

    async def _ask(self, request: GenerationRequest) -> Completion:
        answer = await self._client.post(_PATHS[self._mode], self._request_body(request))
        if isinstance(answer, Refusal):
            if not answer.is_of_length:
                raise await self._client.explain(answer, self._model)
            return _completion(answer.message, FinishReason.CONTEXT, 0)
        text, finish = read_reply(answer)
        num_tokens = self._usage.add_reply(answer.get("usage"))
        text, was_cut = _cut(text, request.params.stop)
        return _completion(text, FinishReason.STOP if was_cut else finish, num_tokens)

    def _request_body(self, request: GenerationRequest) -> dict[str, Any]:
        body = {"model": self._model, **_sampling(request.params), "seed": request.seed % _SEEDS}
        if self._template is None:
            body["messages"] = [dict(message) for message in request.messages]
        else:
            body["prompt"] = _as_text(self._template, request.messages)
        return {name: value for name, value in (body | self._body).items() if value is not None}


def _sampling(params: SamplingParams) -> dict[str, Any]:
    """Return the sampling in the server's words; top-k is no field of OpenAI's own."""
    fields: dict[str, Any] = {
        "temperature": params.temperature,
        "max_tokens": params.max_new_tokens,
    }
    if params.top_p < 1:
        fields["top_p"] = params.top_p
    if params.top_k > 0:
        fields["top_k"] = params.top_k
    return fields


def _as_text(tokenizer: PreTrainedTokenizerBase, messages: Sequence[Mapping[str, str]]) -> str:
    """Return the text of a prompt; without a start token, because servers put it there."""
    text = tokenizer.apply_chat_template(
        [dict(message) for message in messages], add_generation_prompt=True, tokenize=False
    )
    assert isinstance(text, str)
    start = tokenizer.bos_token
    return text.removeprefix(start) if isinstance(start, str) else text


def _cut(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """Return the text up to and including the first stop string, and whether there was one."""
    ends = [text.index(ending) + len(ending) for ending in stop if ending in text]
    return (text[: min(ends)], True) if ends else (text, False)


def _completion(text: str, finish: FinishReason, num_tokens: int | None) -> Completion:
    return Completion(
        token_ids=(),
        logprobs=(),
        finish_reason=finish,
        policy_version=0,
        text=text,
        num_tokens=num_tokens,
    )
