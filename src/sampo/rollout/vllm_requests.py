"""Requests and replies in vLLM's words, the same in process and over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sampo.episode import Completion, FinishReason
from sampo.errors import EngineError
from sampo.rollout.engine import GenerationRequest
from sampo.rollout.replica import Reply

_REASONS = {reason.value: reason for reason in FinishReason}


def sampling_fields(
    request: GenerationRequest, *, ends: Sequence[int], context_length: int
) -> dict[str, Any]:
    """Return the sampling parameters of a request, all of them given.

    What vLLM would take from the model's files (its defaults, its end tokens) is told explicitly.
    """
    params = request.params
    return {
        "temperature": params.temperature,
        "top_p": params.top_p,
        "top_k": params.top_k,
        "max_tokens": min(params.max_new_tokens, context_length - len(request.prompt_ids)),
        "seed": request.seed,
        "stop": list(params.stop),
        "stop_token_ids": list(ends),
        "ignore_eos": True,  # it is among `ends`
        "include_stop_str_in_output": True,
        "skip_special_tokens": False,
    }


def completion(request: GenerationRequest, reply: Reply, version: int) -> Completion:
    """Return a reply of vLLM's as ours.

    Raises:
        EngineError: it ended in a way that has no meaning here.
    """
    ids, logprobs, reason = tuple(reply.token_ids), tuple(reply.logprobs), reply.finish_reason
    if reason not in _REASONS or len(logprobs) != len(ids):
        raise EngineError(
            f"vLLM ended request {request.key!r} with {reason!r}, {len(ids)} tokens and "
            f"{len(logprobs)} log-probabilities, which is no reply; its log says more."
        )
    # vLLM gives a greedy token the log-probability that it has untempered.
    greedy = request.params.temperature == 0
    return Completion(
        token_ids=ids,
        logprobs=(0.0,) * len(ids) if greedy else logprobs,
        finish_reason=_REASONS[reason],
        policy_version=version,
    )
