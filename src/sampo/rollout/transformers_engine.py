"""Sampling with the live policy through plain transformers: no copy, no server, any CPU or GPU.

Continuous batching over a key-value arena: all running rows take one decoding step together; a
finished row leaves at once and costs nothing more; the next prompt of a session feeds only the
tokens that are new since its last reply; equal prompts (a group's first turn) are fed once.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from sampo.episode import Completion, FinishReason
from sampo.errors import ConfigError, EngineError
from sampo.rollout.engine import GenerationRequest, RolloutEngine
from sampo.rollout.live_model import LiveModel
from sampo.rollout.prefill import share_prompts, split_by_tokens
from sampo.rollout.request_check import check_requests
from sampo.rollout.sampling import sample_tokens, uniform_draws
from sampo.rollout.slot_table import Row, SlotTable

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

    The weights are used where they are, so a sync costs nothing; requests that are in flight
    during one start again from their prompt. The model's generation defaults (temperature, top-k,
    ...) are ignored, except for its end-of-sequence tokens, which end a reply like the
    tokenizer's. So does a stop string, even if the reply's last token writes on behind it.

    Log-probabilities are those of the distribution that was sampled from; see
    `rollout.sampling.sample_tokens`. Replies do not depend on the rest of the batch, up to float
    rounding of the logits.

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
        return_share: `collect` comes back when this share of the running rows has finished.
            Smaller: environments get their actions sooner. Larger: prompts are fed in larger
            batches (32 ragged episodes, environments that answer at once: 120 tokens/s at 0,
            134 at 0.25, 144 at 0.5, 151 at 1).
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
        self._copy: nn.Module | None = None
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
        if not self.shares_weights:
            policy = self._copied(policy)
        model = LiveModel(policy, version, self._context_length)
        self._state = (model, SlotTable(model.arena, self._max_cache_tokens))

    def _copied(self, policy: nn.Module) -> nn.Module:
        """Return the engine's own policy, with the weights of the given one."""
        if self._copy is None:
            self._copy = deepcopy(policy).requires_grad_(requires_grad=False)
        else:
            self._copy.load_state_dict(policy.state_dict())
        return self._copy

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
        self._waiting.clear()

    def _synced(self) -> tuple[LiveModel, SlotTable[_Reply]]:
        if self._state is None:
            raise EngineError("The engine has no weights yet: call sync_weights first.")
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
