"""An engine that replays given replies: for tests, demonstrations and docs."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from itertools import cycle

from torch import nn
from transformers import PreTrainedTokenizerBase

from sampo.episode import Completion, FinishReason
from sampo.errors import ConfigError, EngineError
from sampo.rollout.engine import GenerationRequest, RolloutEngine
from sampo.rollout.request_check import check_requests


class ScriptedEngine(RolloutEngine):
    """Answers request after request with the next of some texts, over and over.

    Every reply is closed with the end-of-sequence token, unless a stop string or the limit cuts it
    before, and has log-probability 0 (certainty).

    Args:
        replies: texts of the replies.
    """

    def __init__(self, replies: Sequence[str]) -> None:
        if not replies:
            raise ConfigError("ScriptedEngine needs at least one reply.")
        self._replies = cycle(replies)
        self._queue: list[GenerationRequest] = []
        self._tokenizer: PreTrainedTokenizerBase | None = None
        self._version = 0

    def bind(self, tokenizer: PreTrainedTokenizerBase) -> None:
        """Take the tokenizer that encodes the replies."""
        self._tokenizer = tokenizer

    def sync_weights(self, policy: nn.Module, version: int) -> None:
        """Note the version; the policy is not used."""
        self._version = version

    def submit(self, requests: Sequence[GenerationRequest]) -> None:
        """Queue requests."""
        check_requests(
            requests,
            in_flight={request.key for request in self._queue},
            context_length=sys.maxsize,
            has_tokenizer=self._tokenizer is not None,
        )
        self._queue.extend(requests)

    def collect(self) -> list[tuple[Hashable, Completion]]:
        """Answer everything that is queued."""
        queue, self._queue = self._queue, []
        return [(request.key, self._answer(request)) for request in queue]

    def end_session(self, session: Hashable) -> None:
        """Cancel a session's requests."""
        self._queue = [request for request in self._queue if request.session != session]

    def _answer(self, request: GenerationRequest) -> Completion:
        if self._tokenizer is None:
            raise EngineError("ScriptedEngine has no tokenizer yet; call bind first.")
        ids = self._tokenizer(next(self._replies), add_special_tokens=False)["input_ids"]
        ids = [*ids, self._tokenizer.eos_token_id]
        for end in range(1, len(ids)):
            text = self._tokenizer.decode(ids[:end])
            if any(stop in text for stop in request.params.stop):
                ids = ids[:end]
                break
        limit = request.params.max_new_tokens
        return Completion(
            token_ids=tuple(ids[:limit]),
            logprobs=(0.0,) * min(len(ids), limit),
            finish_reason=FinishReason.STOP if len(ids) <= limit else FinishReason.LENGTH,
            policy_version=self._version,
        )
