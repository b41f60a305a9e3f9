"""Everything an update asks of the policies: log-probabilities, weights, and the loss's inputs.

Between the module (which steps the optimiser) and the loss (which is pure). No Lightning here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sampo.advantages import BatchAdvantage, BatchAdvantageInputs
from sampo.batch import RolloutBatch, ScoredBatch
from sampo.losses import EntropyMoments, LossInputs, PolicyLoss, correction_metrics
from sampo.micro_batches import deal, idle
from sampo.models.logprobs import TokenScores
from sampo.models.policy import Policy
from sampo.models.reference import AdaptersOff, Reference
from sampo.world import World


@dataclass(frozen=True, kw_only=True, eq=False)
class Scorer:
    """Scores rollouts, micro-batch by micro-batch.

    Ranks share the micro-batches and exchange the scores; all that is asked here is collective.
    """

    policy: Policy
    reference: Reference | None
    loss: PolicyLoss
    stage: BatchAdvantage | None = None
    """Second stage of the advantages, over the whole rollout."""
    temperature: float
    """Scores are those of the distribution that was sampled from."""
    micro_batch_tokens: int
    """Most tokens (padding included) of one pass."""
    recompute: bool = True
    """Whether old log-probabilities are the trainer's own; else they are the engine's."""
    world: World = World()  # noqa: RUF009  frozen

    def passes(self, batch: RolloutBatch) -> list[Tensor | None]:
        """Return the rows of this rank's forward passes, as many as any other rank's.

        None: a pass in which this rank has none; see `idle`.
        """
        units = batch.units(self.loss.keep_together)
        budget, packed = self.micro_batch_tokens, self.policy.packed
        dealt = deal(batch.lengths, units, budget, self.world.size, packed=packed)
        return dealt[self.world.rank]

    def score(self, batch: RolloutBatch, *, unchanged: bool) -> ScoredBatch:
        """Score a rollout once, with the present and the reference policy; settle its advantages.

        Args:
            batch: the rollout.
            unchanged: there will be one optimiser step only, so the present policy's scores are
                those of the loss's own forward pass and need not be computed twice.
        """
        needs = frozenset() if self.stage is None else self.stage.requires
        old, correction = None, None
        if needs or self.loss.correction is not None or (self.recompute and not unchanged):
            old = self.scores(self.policy, batch, with_entropy="entropy" in needs)
        ref = None if self.reference is None else self.logprobs(self.reference.policy, batch)
        if self.loss.correction is not None:
            assert old is not None
            correction = self.loss.correction(old.logprobs - batch.sampling_logprobs, batch)
            if self.loss.correction.rejects_episodes:
                batch = batch.without(batch.action_mask & (correction == 0.0))
        logprobs = batch.sampling_logprobs
        if self.recompute:
            logprobs = None if old is None else old.logprobs
        scored = ScoredBatch(
            batch=batch,
            old_logprobs=logprobs,
            ref_logprobs=ref,
            old_values=None if old is None else old.values,
            correction=correction,
        )
        return scored if self.stage is None else self._settle(scored, old, self.stage)

    def _settle(
        self, scored: ScoredBatch, old: TokenScores | None, stage: BatchAdvantage
    ) -> ScoredBatch:
        """Run the second stage of the advantages, over the tokens that no correction rejects."""
        batch, ref, mask = scored.batch, scored.ref_logprobs, scored.batch.action_mask
        output = stage(
            BatchAdvantageInputs(
                advantages=batch.advantages,
                action_mask=mask if scored.correction is None else mask & (scored.correction > 0),
                turn_ids=batch.turn_ids,
                episode_ids=batch.episode_ids,
                entropy=None if old is None else old.entropy,
                values=None if old is None else old.values,
                kl=None if old is None or ref is None else old.logprobs - ref,
            )
        )
        settled = replace(batch, advantages=output.advantages)
        return replace(scored, batch=settled, returns=output.returns)

    def logprobs(self, policy: Policy | AdaptersOff, batch: RolloutBatch) -> Tensor:
        """Return a policy's log-probabilities `[B, L]`, float32, zero off the action mask."""
        return self.scores(policy, batch, with_entropy=False).logprobs

    @torch.no_grad()
    def scores(
        self, policy: Policy | AdaptersOff, batch: RolloutBatch, *, with_entropy: bool
    ) -> TokenScores:
        """Return what a policy says about a whole rollout: `[B, L]` each, zero off the mask."""
        parts: dict[str, Tensor] = {}
        for rows in self.passes(batch):
            part = idle(batch) if rows is None else batch.select(rows)
            scores = self._scores(policy, part, with_entropy=with_entropy)
            for name, values in scores._asdict().items():
                if values is not None:
                    whole = parts.setdefault(name, torch.zeros_like(batch.advantages))
                    if rows is not None:
                        whole[rows, : part.token_ids.shape[1]] = values.to(whole.dtype)
        # Each row was scored on one rank and is zero on all others.
        whole = {name: self.world.sum_(values) for name, values in parts.items()}
        return TokenScores(whole["logprobs"], whole.get("entropy"), whole.get("values"))

    def facts(self, scored: ScoredBatch) -> dict[str, float]:
        """Return what is known of a rollout before its first step, under bare names."""
        weights, correction = scored.correction, self.loss.correction
        if weights is None or correction is None:
            return {}
        return correction_metrics(weights, scored.batch.action_mask, correction.upper)

    def plan(self, scored: ScoredBatch) -> ScoredBatch:
        """Decide what needs a whole mini-batch, before its first micro-batch."""
        batch, log_ratio, zscores = scored.batch, None, None
        if self.loss.needs_log_ratio or self.loss.needs_entropy_zscores:
            wanted = self.loss.needs_entropy_zscores
            now = self.scores(self.policy, batch, with_entropy=wanted)
            old = now.logprobs if scored.old_logprobs is None else scored.old_logprobs
            log_ratio = now.logprobs - old
            if wanted:
                assert now.entropy is not None
                moments = EntropyMoments.of(now.entropy, batch.action_mask)
                zscores = moments.zscores(now.entropy, batch.action_mask)
        plan = self.loss.plan(batch, log_ratio=log_ratio, advantages=batch.advantages)
        weights, keep = plan.surrogate.normalised(), plan.keep
        if scored.correction is not None:
            weights, keep = weights * scored.correction, keep & (scored.correction > 0)
        judged = self.loss.needs_log_ratio or scored.correction is not None
        return replace(
            scored,
            weights=weights,
            regulariser_weights=plan.regulariser.normalised(),
            keep=keep if judged else None,
            entropy_zscores=zscores,
        )

    def loss_inputs(self, part: ScoredBatch, *, unchanged: bool = False) -> LossInputs:
        """Run the policy on a micro-batch and put together what the loss looks at.

        Args:
            part: a micro-batch of a planned mini-batch.
            unchanged: the policy is still the one that was scored.
        """
        assert part.weights is not None, "plan first"
        batch = part.batch
        scores = self._scores(self.policy, batch, with_entropy=True)
        now = scores.logprobs.detach()
        comparable = self.recompute or unchanged  # else only the engine knows the old policy's
        return LossInputs(
            logprobs=scores.logprobs,
            old_logprobs=now if part.old_logprobs is None else part.old_logprobs,
            ref_logprobs=part.ref_logprobs,
            entropy=scores.entropy,
            sampling_logprobs=batch.sampling_logprobs if comparable else None,
            recomputed_logprobs=None if self.recompute else now,
            advantages=batch.advantages,
            action_mask=batch.action_mask,
            turn_ids=batch.turn_ids,
            episode_ids=batch.episode_ids,
            weights=part.weights,
            regulariser_weights=part.regulariser_weights,
            keep=part.keep,
            entropy_zscores=part.entropy_zscores,
            values=scores.values,
            old_values=part.old_values,
            returns=part.returns,
        )

    def no_loss(self, batch: RolloutBatch) -> Tensor:
        """Return a loss of zero, with a gradient of zero in all parameters; see `idle`."""
        scores = self._scores(self.policy, idle(batch), with_entropy=False)
        loss = scores.logprobs.sum()
        return loss if scores.values is None else loss + scores.values.sum()

    def _scores(
        self, policy: Policy | AdaptersOff, batch: RolloutBatch, *, with_entropy: bool
    ) -> TokenScores:
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
        values = None if scores.values is None else scores.values[kind]
        return TokenScores(scores.logprobs[kind], entropy, values)
