"""Asking environments in a pool, several at a time, and waiting for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from sampo.envs.protocol import EnvFault, EnvReply
from sampo.errors import EnvFailure
from sampo.rollout.collector import EpisodeRequest
from sampo.rollout.workers import EnvPool


def replies(pool: EnvPool) -> dict[int, EnvReply]:
    """Wait until every request is answered; return the reply of each slot.

    Raises:
        EnvFailure: An environment failed; says what it did, or that it was late.
    """
    answered: dict[int, EnvReply] = {}
    while pool.pending:
        for slot, answer in pool.poll():
            if isinstance(answer, EnvFault):
                raise EnvFailure(answer.message)
            answered[slot] = answer
    return answered


def first_replies(pool: EnvPool, requests: Sequence[EpisodeRequest]) -> list[EnvReply]:
    """Reset one environment per request; return what each shows first."""
    for slot, request in enumerate(requests):
        pool.reset(slot, request.task, request.env_seed)
    shown = replies(pool)
    return [shown[slot] for slot in range(len(requests))]
