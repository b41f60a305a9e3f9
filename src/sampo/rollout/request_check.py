"""What no engine can answer is refused before it is queued."""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Set

from sampo.errors import EngineError
from sampo.rollout.engine import GenerationRequest


def check_requests(
    requests: Sequence[GenerationRequest],
    *,
    in_flight: Set[Hashable],
    context_length: int,
    has_tokenizer: bool,
) -> None:
    """Refuse requests that cannot be answered.

    Args:
        requests: about to be queued together.
        in_flight: keys of the requests that are not answered yet.
        context_length: most tokens of a prompt and its reply.
        has_tokenizer: whether stop strings can be read.

    Raises:
        EngineError: names the request and what is wrong with it.
    """
    keys = set(in_flight)
    for request in requests:
        problem = _problem(request, context_length, has_tokenizer)
        if request.key in keys:
            problem = "has a key that is in flight already; give every request its own"
        if problem:
            raise EngineError(f"Request {request.key!r} {problem}.")
        keys.add(request.key)


def _problem(request: GenerationRequest, context_length: int, has_tokenizer: bool) -> str:
    """Return why a request cannot be served, or an empty string."""
    if not request.prompt_ids:
        return "has an empty prompt; the first token needs one before it"
    if len(request.prompt_ids) >= context_length:
        return (
            f"has a prompt of {len(request.prompt_ids)} tokens, which leaves no room for a "
            f"reply in the context of {context_length}"
        )
    if request.params.stop and not has_tokenizer:
        return "has stop strings, but the engine has no tokenizer; call bind(tokenizer) first"
    return ""
