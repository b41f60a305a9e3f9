"""A whole copy of the policy in this process, for an engine to sample from; compared, too."""

from __future__ import annotations

from torch import nn

from sampo.errors import ConfigError, EngineError
from sampo.models.policy import Policy
from sampo.models.whole_weights import WholeCopy
from sampo.rollout.weight_proof import is_due, probe_gap, probe_limit, probe_logprobs
from sampo.rollout.weight_shipment import as_policy


class SyncedCopy:
    """Made at the first sync, renewed at every other.

    Args:
        check_every: compare the log-probabilities of a probe with the trainer's at each so many
            syncs, and at the first three.
    """

    def __init__(self, check_every: int) -> None:
        if check_every < 1:
            raise ConfigError(f"data.engine.check_every must be at least 1, got {check_every}.")
        self._check_every = check_every
        self._copy: WholeCopy | None = None
        self._syncs = 0
        self.asleep = False
        """Whether its memory is given back."""

    def renewed(self, policy: nn.Module, version: int) -> Policy:
        """Return the copy with the present weights. Collective if they are sharded.

        Raises:
            EngineError: it does not compute what the policy does.
        """
        policy = as_policy(policy)
        if self._copy is None:
            self._copy = WholeCopy(policy)
        self._copy.take(policy)
        copy = self._copy.policy
        if is_due(self._syncs, self._check_every):
            gap = probe_gap(probe_logprobs(policy), probe_logprobs(copy).tolist())
            limit = probe_limit(policy, str(copy.model.dtype))
            if not gap <= limit:  # NaN included
                raise EngineError(
                    f"After sync {version} the engine's copy is not the policy: a probe's "
                    f"log-probabilities differ by {gap:.2g} on average (limit {limit:g}). What it "
                    "samples could not be trained on, so the run stops."
                )
        self._syncs += 1
        self.asleep = False
        return copy

    def give_back(self) -> None:
        """Free its memory until the next sync."""
        if self._copy is not None:
            self._copy.give_back()
            self.asleep = True
