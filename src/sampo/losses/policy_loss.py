# pyright: strict
"""The objective of an update: one sum over tokens, composed of replaceable parts.

Called by `sampo.module` per micro-batch; pure: tensors in, loss and metrics out. What needs the
whole mini-batch (weights, the sequence mask) is decided before the first micro-batch by
`PolicyLoss.plan`, so that micro-batches can be of any size::

    plan = policy_loss.plan(mini_batch)                        # + log_ratio if `needs_log_ratio`
    weights = plan.surrogate.normalised(all_reduce(plan.surrogate.denominator))
    for rows in micro_batches:
        output = policy_loss(LossInputs(..., weights=weights[rows]))
        output.loss.backward()                                 # gradients add up
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sampo.errors import ConfigError
from sampo.losses.aggregation import Aggregation, TokenWeights
from sampo.losses.correction import OffPolicyCorrection
from sampo.losses.diagnostics import loss_metrics
from sampo.losses.inputs import LossInputs, LossOutput, LossPlan, on_mask
from sampo.losses.kl import KLPenalty
from sampo.losses.levels import check_levels
from sampo.losses.masking import SequenceMask
from sampo.losses.ratio import Ratio
from sampo.losses.segments import HasSegments, Level, widest
from sampo.losses.surrogates import Clip, Surrogate, SurrogateInputs
from sampo.losses.token_log import TokenLog
from sampo.losses.value import ValueLoss


@dataclass(frozen=True, kw_only=True)
class PolicyLoss:
    r"""The loss that is minimised; the defaults are SAMPO's.

    With the weights $w_t$, $w^r_t$ of the aggregations and the surrogate $L_t$ of ratio and
    advantage::

        loss = sum_t w_t L_t  +  kl_coef sum_t w^r_t kl_t  -  entropy_coef sum_t w^r_t H_t
               + value.coef sum_t w^r_t V_t                         (with a value head only)

    SAMPO's objective, with turns $i$ of $T_i$ action tokens, $s_i = (\pi_\theta/\pi_{old})$
    averaged geometrically over the turn, and $N$ turns in the mini-batch::

        1/N sum_i 1/T_i sum_t max(-A_i s_i, -A_i clip(s_i, 1 - 3e-3, 1 + 4e-3))  +  0.01 k3

    The paper's Eq. 8 writes the mean over tokens; its code takes the mean over sequences, as here
    (`aggregation.kind=token_mean` gives the equation).

    References:
        ARLArena: A Unified Framework for Stable Agentic Reinforcement Learning,
        https://arxiv.org/abs/2602.21534
    """

    # Frozen defaults can be shared by all instances.
    ratio: Ratio = Ratio(level="turn")  # noqa: RUF009
    surrogate: Surrogate = Clip(clip_low=3e-3, clip_high=4e-3)  # noqa: RUF009
    aggregation: Aggregation = Aggregation(kind="sequence_mean_token_mean")  # noqa: RUF009
    masking: SequenceMask | None = None
    """Sequence masking, or none."""
    correction: OffPolicyCorrection | None = None
    """For what the engine sampled otherwise than the trainer would, or none."""
    kl: KLPenalty = KLPenalty()  # noqa: RUF009
    kl_coef: float = 0.01
    """Weight of the KL term; 0 leaves it out (and needs no reference)."""
    entropy_coef: float = 0.0
    """Weight of the entropy bonus."""
    regulariser_aggregation: Aggregation | None = None
    """Aggregation of the other terms. None: as the surrogate. In the paper's code they follow the
    config's aggregation while GSPO and SAMPO fix the surrogate's."""
    value: ValueLoss | None = None
    """Loss of a value head, which GAE needs; none for every other method."""

    def __post_init__(self) -> None:
        """Refuse combinations that cannot work."""
        check_levels(self.aggregation, self.regulariser_aggregation, self.masking)
        if not (0.0 <= self.kl_coef < math.inf and 0.0 <= self.entropy_coef < math.inf):
            raise ConfigError(
                f"loss.kl_coef={self.kl_coef} and loss.entropy_coef={self.entropy_coef} must be 0 "
                "or more: a negative weight would maximise the KL or lower the entropy."
            )
        least = self.surrogate.least_ratio_level
        if widest(least, self.ratio.level) != self.ratio.level:
            raise ConfigError(
                f"{type(self.surrogate).__name__} is defined on a ratio of a whole {least}, but "
                f"loss.ratio.level is {self.ratio.level}; set loss.ratio.level to {least}."
            )

    @property
    def keep_together(self) -> Level:
        """Widest segment that must lie whole in one micro-batch.

        A turn always does, because a row holds it whole; `episode` asks the splitter to keep all
        rows of an episode in one micro-batch.
        """
        return widest(self.ratio.level, self.surrogate.level)

    @property
    def keep_together_in_mini_batch(self) -> Level:
        """Widest segment that must lie whole in one mini-batch, on one rank."""
        levels: list[Level] = [self.keep_together, self.aggregation.level]
        if self.masking is not None:
            levels.append(self.masking.level)
        if self.regulariser_aggregation is not None:
            levels.append(self.regulariser_aggregation.level)
        return widest(*levels)

    @property
    def needs_log_ratio(self) -> bool:
        """Whether `plan` needs the log-ratios of the mini-batch under the current policy."""
        return self.masking is not None

    @property
    def needs_reference(self) -> bool:
        """Whether `LossInputs.ref_logprobs` must be given."""
        return self.kl_coef > 0.0

    @property
    def needs_entropy_zscores(self) -> bool:
        """Whether `LossInputs.entropy_zscores` must be given (`EntropyMoments` makes them)."""
        return self.surrogate.needs_entropy

    def with_reply_limit(self, max_new_tokens: int) -> PolicyLoss:
        """Return the loss whose `sum_over_max_length` divides by the limit of a reply."""

        def limited(rule: Aggregation) -> Aggregation:
            open_ended = rule.kind == "sum_over_max_length" and rule.max_length is None
            return replace(rule, max_length=max_new_tokens) if open_ended else rule

        other = self.regulariser_aggregation
        return replace(
            self,
            aggregation=limited(self.aggregation),
            regulariser_aggregation=None if other is None else limited(other),
        )

    def plan(
        self,
        batch: HasSegments,
        *,
        log_ratio: Tensor | None = None,
        advantages: Tensor | None = None,
    ) -> LossPlan:
        """Decide what needs the whole mini-batch (or this rank's shard of it).

        Args:
            batch: masks and ids of the mini-batch.
            log_ratio: `[B, L]`, current minus rollout log-probability, without gradient; only
                read with sequence masking.
            advantages: `[B, L]`; only read with sequence masking.
        """
        aggregation = self.regulariser_aggregation or self.aggregation
        regulariser = aggregation(batch)
        if self.masking is None:
            surrogate = regulariser if aggregation is self.aggregation else self.aggregation(batch)
            return LossPlan(surrogate=surrogate, regulariser=regulariser, keep=batch.action_mask)
        assert log_ratio is not None and advantages is not None, "see needs_log_ratio"
        keep = self.masking(log_ratio, advantages, batch)
        if self.masking.denominator == "surviving":
            surrogate = self.aggregation(batch, keep)
        else:
            full = self.aggregation(batch)
            surrogate = TokenWeights(weights=full.weights * keep, denominator=full.denominator)
        return LossPlan(surrogate=surrogate, regulariser=regulariser, keep=keep)

    def __call__(self, inputs: LossInputs) -> LossOutput:
        """Return the contribution of one micro-batch to the loss, and its metrics.

        Raises:
            ConfigError: if a term is switched on whose input is missing.
        """
        mask = inputs.action_mask
        logprobs = on_mask(inputs.logprobs, mask)
        log_ratio = logprobs - on_mask(inputs.old_logprobs, mask)
        output = self.surrogate(
            SurrogateInputs(
                logprobs=logprobs,
                log_ratio=log_ratio,
                ratio=self.ratio,
                advantages=on_mask(inputs.advantages, mask),
                batch=inputs,
                entropy_zscores=self._entropy_zscores(inputs),
            )
        )
        loss = (on_mask(output.loss, mask) * inputs.weights).sum()
        loss = loss + self._regulariser(inputs, logprobs, log_ratio)
        with torch.no_grad():
            # The drift of a token ratio is that of the ratio in use, bounds included.
            drift = self.ratio(log_ratio, inputs) if self.ratio.level == "token" else log_ratio
            metrics = loss_metrics(inputs, output, drift)
            tokens = TokenLog.of(inputs, output)
        return LossOutput(loss=loss, metrics=metrics, tokens=tokens)

    def _entropy_zscores(self, inputs: LossInputs) -> Tensor | None:
        if not self.surrogate.needs_entropy:
            return None
        if inputs.entropy_zscores is None:
            name = type(self.surrogate).__name__
            raise ConfigError(f"{name} needs LossInputs.entropy_zscores, but none were given.")
        return on_mask(inputs.entropy_zscores, inputs.action_mask)

    def _regulariser(self, inputs: LossInputs, logprobs: Tensor, log_ratio: Tensor) -> Tensor:
        """Return the KL term minus the entropy bonus plus the value loss, 0-d."""
        mask = inputs.action_mask
        weights = inputs.weights
        if inputs.regulariser_weights is not None:
            weights = inputs.regulariser_weights
        term = logprobs.new_zeros(())
        if self.kl_coef > 0.0:
            if inputs.ref_logprobs is None:
                raise ConfigError(
                    f"loss.kl_coef={self.kl_coef} needs the log-probabilities of a reference "
                    "policy, but there is none; configure a reference or set loss.kl_coef to 0."
                )
            kl = self.kl(logprobs, on_mask(inputs.ref_logprobs, mask), log_ratio)
            term = term + self.kl_coef * (on_mask(kl, mask) * weights).sum()
        if self.entropy_coef > 0.0:
            if inputs.entropy is None:
                raise ConfigError(
                    f"loss.entropy_coef={self.entropy_coef} needs the token entropies "
                    "(LossInputs.entropy), but none were given; compute them or set it to 0."
                )
            bonus = (on_mask(inputs.entropy, mask) * weights).sum()
            term = term - self.entropy_coef * bonus
        if self.value is not None:
            error = self.value(*self._value_inputs(inputs))
            term = term + self.value.coef * (error * weights).sum()
        return term

    @staticmethod
    def _value_inputs(inputs: LossInputs) -> tuple[Tensor, Tensor, Tensor]:
        """Return values, old values and targets, zero off the mask."""
        if inputs.values is None or inputs.old_values is None or inputs.returns is None:
            raise ConfigError(
                "loss.value needs the values and targets of a value head, but there are none; set "
                "model.batch_advantage to GAE, or loss.value to null."
            )
        mask = inputs.action_mask
        return (
            on_mask(inputs.values, mask),
            on_mask(inputs.old_values, mask),
            on_mask(inputs.returns, mask),
        )
