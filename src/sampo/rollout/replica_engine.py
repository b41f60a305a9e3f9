"""Sampling with copies of the policy that live in other processes.

Continuous batching is theirs; here requests are dispatched, and weights handed over so that every
reply is by one version. How a copy is started and spoken to is the subclass's business.
"""

from __future__ import annotations

import asyncio
import atexit
import weakref
from abc import abstractmethod
from collections.abc import Coroutine, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from sampo.episode import Completion
from sampo.errors import ConfigError, EngineError
from sampo.models.policy import Policy
from sampo.rollout import weight_proof as proof
from sampo.rollout.engine import GenerationRequest, RolloutEngine
from sampo.rollout.replica import Replica
from sampo.rollout.request_check import check_requests
from sampo.rollout.request_pool import Finished, RequestPool
from sampo.rollout.vllm_requests import completion, sampling_fields
from sampo.rollout.weight_shipment import WeightShipment, as_policy, end_ids
from sampo.world import World

Result = TypeVar("Result")


class ReplicaEngine(RolloutEngine):
    """Sends each request to the replica with the fewest in flight.

    The replicas start with the first sync. Every sync waits until what is in flight has been
    answered with the old weights, and compares the new ones with the trainer's. Of several ranks
    each has replicas of its own, and syncs are collective.

    Args:
        name: what answers, for messages.
        context_length: most tokens of a prompt and its reply; None: what the model was made for.
        sleep: whether replicas give their memory back between a rollout and the next sync.
        transfer_folder: see `WeightShipment`.
        reply_timeout_s: an engine that answers nothing for so long is taken to hang.
        check_every: compare the weights at each so many syncs; at the first ones always.
    """

    def __init__(
        self,
        *,
        name: str,
        context_length: int | None,
        sleep: bool,
        transfer_folder: str | None,
        reply_timeout_s: float,
        check_every: int = 1,
    ) -> None:
        if reply_timeout_s <= 0 or min(check_every, (context_length or 2) - 1) < 1:
            raise ConfigError(
                f"{type(self).__name__} needs a reply_timeout_s above 0, a context_length of at "
                "least 2 and a check_every of at least 1."
            )
        self._name = name
        self._asked_context_length = context_length
        self.sleeps = sleep
        self._transfer_folder = transfer_folder
        self._reply_timeout_s = reply_timeout_s
        self._tokenizer: PreTrainedTokenizerBase | None = None
        self._opened: tuple[RequestPool, WeightShipment] | None = None
        self._load: dict[Replica, int] = {}
        """Requests in flight at each replica."""
        self._context_length = 0
        self._ends: list[int] = []
        self._version = -1
        self._asleep = False
        self._check_every = check_every
        self._syncs = 0
        self._world = World()
        self._loads_them = True
        """Whether this rank loads its replicas; of those that ranks share, one does."""

    @abstractmethod
    async def _start(self, policy: Policy, folder: Path, context_length: int) -> list[Replica]:
        """Start the replicas of this rank.

        Args:
            policy: what they will sample from.
            folder: a Hugging Face folder of it, with its tokenizer if there is one.
            context_length: most tokens of a row.
        """

    def bind(self, tokenizer: PreTrainedTokenizerBase) -> None:
        """Take the tokenizer: its end-of-sequence token ends replies, and it reads stop strings."""
        self._tokenizer = tokenizer

    def sync_weights(self, policy: nn.Module, version: int) -> None:
        """Start with a policy, or take its new weights.

        Raises:
            EngineError: the replicas do not start, or their weights are not the trainer's.
        """
        try:
            self._sync(as_policy(policy), version)
        except BaseException:
            self.close()  # whatever it has for weights, they are not the policy's
            raise

    def submit(self, requests: Sequence[GenerationRequest]) -> None:
        """Send requests off.

        Raises:
            EngineError: one of them cannot be answered, or the engine sleeps.
        """
        pool = self._pool()
        check_requests(
            requests,
            in_flight=pool.keys,
            context_length=self._context_length,
            has_tokenizer=self._tokenizer is not None,
        )
        pool.submit(requests)

    def collect(self) -> list[Finished]:
        """Block until a request is answered; return those that are."""
        return self._pool().collect()

    def ready(self, timeout_s: float) -> bool:
        """Return whether a request is answered, waiting for one a moment."""
        return self._pool().ready(timeout_s)

    def end_session(self, session: Hashable) -> None:
        """Cancel a session's requests."""
        if self._opened is not None:
            self._opened[0].cancel(session)

    def sleep(self) -> None:
        """Give weights and cache back until the next sync, where `sleep` is set."""
        if not self.sleeps or self._opened is None or self._asleep:
            return
        pool = self._opened[0]
        with pool.quiet():
            if self._loads_them:
                pool.call(_all(replica.sleep() for replica in self._load))
            self._asleep = True

    def close(self) -> None:
        """End the replicas and give back their memory."""
        if self._opened is not None:
            self._closing()
            atexit.unregister(self._closing)
            self._opened, self._load, self._asleep = None, {}, False

    def _sync(self, policy: Policy, version: int) -> None:
        pool, shipment = self._open(policy)
        tokenizer = None if self._load else self._tokenizer
        with pool.quiet():
            self._world.gather(lambda: None)  # a replica that ranks share is quiet when all are
            with shipment.of(policy, tokenizer) as sent:
                due = proof.is_due(self._syncs, self._check_every)
                expected = proof.probe_logprobs(policy) if due else None
                self._world.gather(lambda: self._take(policy, version, sent, expected))
        self._syncs += 1
        self._version, self._asleep = version, False
        self._ends = end_ids(policy, self._tokenizer)

    def _take(
        self, policy: Policy, version: int, sent: Mapping[str, int], expected: Tensor | None
    ) -> None:
        """Start this rank's replicas if need be, and have them take weights that are there."""
        assert self._opened is not None
        pool, shipment = self._opened
        folder, first = shipment.folder, not self._load
        if first:
            started = pool.call(self._start(policy, folder, self._context_length))
            self._load.update(dict.fromkeys(started, 0))
            # Nobody has to remember to close an engine. Registered only now, so that it comes
            # before multiprocessing's own clean-up, which would kill what is to be closed.
            atexit.register(self._closing)
        if not self._loads_them:
            return
        received = pool.call(_all(replica.load(folder) for replica in self._load))
        if expected is None:
            return
        ids = proof.probe(policy)
        for replica, sums in zip(self._load, received, strict=True):
            proof.check_arrival(
                version,
                sent=sent,
                received=sums,
                gap=proof.probe_gap(expected, pool.call(replica.score(ids))),
                limit=proof.probe_limit(policy, replica.dtype),
                differing=lambda replica=replica: pool.call(replica.differing(folder)),
                thorough=first,
            )

    def _open(self, policy: Policy) -> tuple[RequestPool, WeightShipment]:
        """Return the pool and the shipment, made for the first policy."""
        if self._opened is None:
            self._world = World.join()
            config = policy.model.config.get_text_config()
            longest = config.max_position_embeddings
            if (self._asked_context_length or 0) > longest:
                raise EngineError(
                    f"context_length {self._asked_context_length} exceeds the model's {longest} "
                    "positions."
                )
            self._context_length = self._asked_context_length or longest
            shipment = WeightShipment(self._transfer_folder, self._world)
            pool = RequestPool(self._reply, timeout_s=self._reply_timeout_s, name=self._name)
            self._opened = (pool, shipment)
            self._closing = weakref.finalize(self, _close, pool, shipment, self._load)
        return self._opened

    def _pool(self) -> RequestPool:
        if self._opened is None:
            raise EngineError("The engine has no weights yet: call sync_weights first.")
        if self._asleep:
            raise EngineError("The engine sleeps: call sync_weights, which wakes it.")
        return self._opened[0]

    async def _reply(self, request: GenerationRequest) -> Completion:
        version = self._version  # no sync begins before this reply has ended
        fields = sampling_fields(request, ends=self._ends, context_length=self._context_length)
        replica = min(self._load, key=lambda replica: self._load[replica])
        self._load[replica] += 1
        try:
            reply = await replica.generate(request, fields)
        finally:
            self._load[replica] -= 1
        return completion(request, reply, version)


async def _all(works: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    return await asyncio.gather(*works)


def _close(pool: RequestPool, shipment: WeightShipment, load: dict[Replica, int]) -> None:
    async def close_replicas() -> None:
        await _all(replica.close() for replica in load)

    pool.close(close_replicas())
    shipment.close()
