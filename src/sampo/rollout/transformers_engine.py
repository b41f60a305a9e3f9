"""Sampling with the live policy through plain transformers: no copy, no server, any CPU or GPU.

Continuous batching over a key-value arena: all running rows take one decoding step together; a
finished row leaves at once and costs nothing more; the next prompt of a session feeds only the
tokens that are new since its last reply; equal prompts (a group's first turn) are fed once.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from sampo.episode import Completion, FinishReason
from sampo.errors import ConfigError, EngineError
from sampo.models.sharding import is_sharded
from sampo.rollout.engine import GenerationRequest, RolloutEngine
from sampo.rollout.live_model import LiveModel
from sampo.rollout.prefill import share_prompts, split_by_tokens
from sampo.rollout.request_check import check_requests
from sampo.rollout.sampling import sample_tokens, uniform_draws
from sampo.rollout.slot_table import Row, SlotTable
from sampo.rollout.synced_copy import SyncedCopy

Finished = tuple[Hashable, Completion]


@dataclass(eq=False, kw_only=True)
class _Reply(Row):
    """A request on its way."""

    request: GenerationRequest
    draws: list[float]
    """Uniform numbers, one per token that the reply may have."""
    logprobs: list[float] = field(default_factory=list)

    @property
    def written(self) -> list[int]:
        """Tokens of the reply so far."""
        return self.ids[len(self.request.prompt_ids) :]


class TransformersEngine(RolloutEngine):
    """Samples with the policy that is being trained.

    The weights are used where they are, so a sync costs nothing; requests in flight start again
    from their prompt. Sharded ones are gathered into a copy: sampling from shards would make ranks
    wait for each other in every layer. Of the model's generation defaults only the end-of-sequence
    tokens count. They end a reply like the tokenizer's and like a stop string, even if the reply's
    last token writes on behind it.

    Log-probabilities: see `rollout.sampling.sample_tokens`. Replies do not depend on the rest of
    the batch, up to float rounding of the logits.

    Args:
        max_batch: most rows that decode together.
        context_length: most tokens of a prompt and its reply; None: what the model was made for.
            A reply that runs into it ends with LENGTH.
        max_cache_tokens: most tokens of keys and values held, counted as rows (running, or kept
            for a session) times the longest. The oldest kept rows are forgotten first. A token
            takes `2 x layers x kv_heads x head_dim` numbers.
        prefill_tokens: most prompt tokens, padding included, in one forward pass.
        own_weights: sample from a copy of the policy that is renewed at every sync, so that a
            rollout may go on beside an update (`data.max_staleness`). Costs the weights once more.
        check_every: see `SyncedCopy`.
        return_share: of the running rows that has finished when `collect` comes back.
    """

    def __init__(
        self,
        *,
        max_batch: int = 256,
        context_length: int | None = None,
        max_cache_tokens: int = 2**18,
        prefill_tokens: int = 8192,
        return_share: float = 0.5,
        own_weights: bool = False,
        check_every: int = 1,
    ) -> None:
        if min(max_batch, max_cache_tokens, prefill_tokens) < 1 or not 0 <= return_share <= 1:
            raise ConfigError(
                "TransformersEngine needs max_batch, max_cache_tokens and prefill_tokens of at "
                "least 1, and a return_share from 0 to 1."
            )
        self._max_batch = max_batch
        self._context_length = context_length
        self._max_cache_tokens = max_cache_tokens
        self._prefill_tokens = prefill_tokens
        self._return_share = return_share
        self.shares_weights = not own_weights
        self._copy = SyncedCopy(check_every)
        self._tokenizer: PreTrainedTokenizerBase | None = None
        self._state: tuple[LiveModel, SlotTable[_Reply]] | None = None
        self._waiting: deque[GenerationRequest] = deque()

    def bind(self, tokenizer: PreTrainedTokenizerBase) -> None:
        """Take the tokenizer: its end-of-sequence token ends replies, and it reads stop strings."""
        self._tokenizer = tokenizer

    def sync_weights(self, policy: nn.Module, version: int) -> None:
        """Sample from `policy` (a `Policy`) from now on; drops all keys and values."""
        if self._state is not None:
            self._waiting.extendleft(row.request for row in reversed(self._state[1].running))
        if not self.shares_weights or is_sharded(policy):
            policy = self._copy.renewed(policy, version)
        model = LiveModel(policy, version, self._context_length)
        self._state = (model, SlotTable(model.arena, self._max_cache_tokens))

    def sleep(self) -> None:
        """Give the memory of gathered weights back, unless a rollout goes on beside the update."""
        if self.shares_weights:
            self._copy.give_back()

    def submit(self, requests: Sequence[GenerationRequest]) -> None:
        """Queue requests.

        Raises:
            EngineError: a prompt is empty or fills the context, a key is in flight already, or
                there are stop strings and no tokenizer.
        """
        model, table = self._synced()
        keys = {request.key for request in self._waiting}
        keys.update(row.request.key for row in table.running)
        check_requests(
            requests,
            in_flight=keys,
            context_length=model.context_length,
            has_tokenizer=self._tokenizer is not None,
        )
        self._waiting.extend(requests)

    def collect(self) -> list[Finished]:
        """Decode until a share of the running rows has finished; return those.

        Raises:
            EngineError: the weights changed since the last sync.
        """
        model, table = self._synced()
        done: list[Finished] = []
        if not self._waiting and not table.running:
            return done
        with model.sampling():
            done += self._admit()
            enough = max(math.ceil(self._return_share * (len(table.running) + len(done))), 1)
            while table.running and len(done) < enough:
                done += self._append(list(table.running), model.next_logits(table.running))
        return done

    def end_session(self, session: Hashable) -> None:
        """Forget a session's keys and values; requests of it that are in flight are cancelled."""
        if self._state is None:
            return
        table = self._state[1]
        with torch.inference_mode():
            for row in [row for row in table.running if row.request.session == session]:
                table.stop(row, None)
        self._waiting = deque(r for r in self._waiting if r.session != session)
        table.forget(session)

    def close(self) -> None:
        """Let go of the policy and of all keys and values."""
        self._state = None
        self._copy.give_back()
        self._waiting.clear()

    def _synced(self) -> tuple[LiveModel, SlotTable[_Reply]]:
        if self._state is None:
            raise EngineError("The engine has no weights yet: call sync_weights first.")
        if self._copy.asleep:
            raise EngineError("The engine sleeps: call sync_weights, which wakes it.")
        return self._state

    def _admit(self) -> list[Finished]:
        """Start as many waiting requests as fit, and sample their first tokens."""
        model, table = self._synced()
        rows: list[_Reply] = []
        longest = 0
        while self._waiting and len(table.running) + len(rows) < self._max_batch:
            request = self._waiting[0]
            most_new = model.context_length - len(request.prompt_ids)
            draws = uniform_draws(request.seed, min(request.params.max_new_tokens, most_new))
            ids = list(request.prompt_ids)
            most = len(ids) + len(draws)
            longest = max(longest, most)
            if table.room(longest) <= len(rows):
                break
            rows.append(_Reply(ids=ids, most_tokens=most, request=request, draws=draws))
            self._waiting.popleft()
        if not rows:
            return []
        for row in rows:
            if row.request.session is not None:
                table.resume(row, row.request.session)
        leaders, followers = share_prompts(rows)
        table.start(leaders + [row for row, _ in followers])
        parts = split_by_tokens(leaders, self._prefill_tokens)
        logits = torch.cat([model.next_logits(part) for part in parts])
        for row, leader in followers:
            table.arena.copy(leader.slot, row.slot, leader.cached)
            row.cached = leader.cached
        first = leaders[0].slot
        sources = [row.slot - first for row in leaders]
        sources += [leader.slot - first for _, leader in followers]
        return self._append(leaders + [row for row, _ in followers], logits[sources])

    def _append(self, rows: Sequence[_Reply], logits: Tensor) -> list[Finished]:
        """Sample a token for each row, and return and stop those that are finished."""
        model, table = self._synced()
        params = [row.request.params for row in rows]
        draws = [row.draws[len(row.logprobs)] for row in rows]
        tokens, logprobs = sample_tokens(logits, params, draws)
        done: list[Finished] = []
        ended: list[_Reply] = []
        end_ids = self._end_ids(model)
        for row, token, logprob in zip(rows, tokens, logprobs, strict=True):
            row.ids.append(token)
            row.logprobs.append(logprob)
            stopped = token in end_ids or self._stop_string_appeared(row)
            if not stopped and len(row.logprobs) < len(row.draws):
                continue
            completion = Completion(
                token_ids=tuple(row.written),
                logprobs=tuple(row.logprobs),
                finish_reason=FinishReason.STOP if stopped else FinishReason.LENGTH,
                policy_version=model.version,
            )
            done.append((row.request.key, completion))
            ended.append(row)
        # From the last slot down: a row that takes a freed slot is then never one that ends too.
        for row in sorted(ended, key=lambda row: -row.slot):
            table.stop(row, row.request.session)
        return done

    def _end_ids(self, model: LiveModel) -> frozenset[int]:
        end = None if self._tokenizer is None else self._tokenizer.eos_token_id
        return model.end_ids | {end} if isinstance(end, int) else model.end_ids

    def _stop_string_appeared(self, row: _Reply) -> bool:
        stop = row.request.params.stop
        if not stop or self._tokenizer is None:
            return False
        # A token is at least one byte, so older tokens cannot be part of the string.
        reach = max(len(text.encode()) for text in stop)
        text = self._tokenizer.decode(row.written[-reach:])
        return any(ending in text for ending in stop)
