"""Everything an update asks of the policies: log-probabilities, weights, and the loss's inputs.

Between the module (which steps the optimiser) and the loss (which is pure). No Lightning here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sampo.batch import RolloutBatch, ScoredBatch, by_token_budget
from sampo.losses import LossInputs, PolicyLoss
from sampo.models.logprobs import TokenScores
from sampo.models.policy import Policy
from sampo.models.reference import Reference


@dataclass(frozen=True, kw_only=True, eq=False)
class Scorer:
    """Scores rollouts, micro-batch by micro-batch."""

    policy: Policy
    reference: Reference | None
    loss: PolicyLoss
    temperature: float
    """Scores are those of the distribution that was sampled from."""
    micro_batch_tokens: int
    """Most tokens (padding included) of one pass."""

    def micro_batches(self, batch: RolloutBatch) -> list[Tensor]:
        """Return the rows of each forward pass."""
        units = batch.units(self.loss.keep_together)
        return by_token_budget(batch.lengths, units, self.micro_batch_tokens)

    def score(self, batch: RolloutBatch, *, unchanged: bool) -> ScoredBatch:
        """Score a rollout once, with the present and the reference policy.

        Args:
            batch: the rollout.
            unchanged: there will be one optimiser step only, so the present policy's scores are
                those of the loss's own forward pass and need not be computed twice.
        """
        reference = None if self.reference is None else self.reference.policy
        return ScoredBatch(
            batch=batch,
            old_logprobs=None if unchanged else self.logprobs(self.policy, batch),
            ref_logprobs=None if reference is None else self.logprobs(reference, batch),
        )

    @torch.no_grad()
    def logprobs(self, policy: Policy, batch: RolloutBatch) -> Tensor:
        """Return a policy's log-probabilities `[B, L]`, float32, zero off the action mask."""
        logprobs = torch.zeros_like(batch.advantages)
        for rows in self.micro_batches(batch):
            part = batch.select(rows)
            scores = self._scores(policy, part, with_entropy=False)
            logprobs[rows, : part.token_ids.shape[1]] = scores.logprobs.float()
        return logprobs

    def plan(self, scored: ScoredBatch) -> ScoredBatch:
        """Decide what needs a whole mini-batch, before its first micro-batch."""
        batch, log_ratio = scored.batch, None
        if self.loss.needs_log_ratio:
            now = self.logprobs(self.policy, batch)
            log_ratio = now - (now if scored.old_logprobs is None else scored.old_logprobs)
        plan = self.loss.plan(batch, log_ratio=log_ratio, advantages=batch.advantages)
        return replace(
            scored,
            weights=plan.surrogate.normalised(),
            regulariser_weights=plan.regulariser.normalised(),
            keep=plan.keep if self.loss.needs_log_ratio else None,
        )

    def loss_inputs(self, part: ScoredBatch) -> LossInputs:
        """Run the policy on a micro-batch and put together what the loss looks at."""
        assert part.weights is not None, "plan first"
        batch = part.batch
        scores = self._scores(self.policy, batch, with_entropy=True)
        old = scores.logprobs.detach() if part.old_logprobs is None else part.old_logprobs
        return LossInputs(
            logprobs=scores.logprobs,
            old_logprobs=old,
            ref_logprobs=part.ref_logprobs,
            entropy=scores.entropy,
            sampling_logprobs=batch.sampling_logprobs,
            advantages=batch.advantages,
            action_mask=batch.action_mask,
            turn_ids=batch.turn_ids,
            episode_ids=batch.episode_ids,
            weights=part.weights,
            regulariser_weights=part.regulariser_weights,
            keep=part.keep,
        )

    def _scores(self, policy: Policy, batch: RolloutBatch, *, with_entropy: bool) -> TokenScores:
        """Score a micro-batch, each kind of row once; the gradients of equal rows add up."""
        first, kind = batch.distinct_rows()
        part = batch.select(first)
        scores = policy(
            part.token_ids,
            part.lengths,
            part.action_mask,
            temperature=self.temperature,
            with_entropy=with_entropy,
        )
        entropy = None if scores.entropy is None else scores.entropy[kind]
        return TokenScores(scores.logprobs[kind], entropy)
