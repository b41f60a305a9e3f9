# pyright: strict
"""The distance to the reference policy: estimators of KL(pi_theta || pi_ref) per token.

The value that is logged (k3, always; see `policy_loss.py`) is separate from the term whose
gradient is used (this file's `KLPenalty`), because differentiating an estimator of the KL is not
differentiating the KL: the gradient of k1 is zero in expectation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from sampo.errors import ConfigError, did_you_mean

KLKind = Literal["k1", "abs", "k2", "k3"]
KLGradient = Literal["estimator", "k2", "importance_weighted"]

_KINDS = ("k1", "abs", "k2", "k3")
_GRADIENTS = ("estimator", "k2", "importance_weighted")
_LOG_CLAMP = 20.0
_VALUE_CLAMP = 10.0


def kl_estimate(logprobs: Tensor, ref_logprobs: Tensor, kind: KLKind) -> Tensor:
    r"""Return an estimate of KL(pi_theta || pi_ref) for each token sampled from pi_theta.

    With `d = ref_logprobs - logprobs`::

        k1   -d                 unbiased, may be negative
        abs  |d|
        k2   d^2 / 2            its gradient is that of the KL, on-policy
        k3   e^d - d - 1        unbiased, never negative; d clamped to +-20, the value to +-10

    Args:
        logprobs: current log-probabilities, any shape, with gradient.
        ref_logprobs: the reference's, same shape.
        kind: the estimator.

    References:
        Approximating KL Divergence, http://joschu.net/blog/kl-approx.html
    """
    distance = ref_logprobs - logprobs
    if kind == "k1":
        return -distance
    if kind == "abs":
        return distance.abs()
    if kind == "k2":
        return distance.square() / 2
    distance = distance.clamp(-_LOG_CLAMP, _LOG_CLAMP)
    return (distance.expm1() - distance).clamp(-_VALUE_CLAMP, _VALUE_CLAMP)


@dataclass(frozen=True, kw_only=True)
class KLPenalty:
    """The KL term of the loss, per token.

    `gradient` says whose gradient is used::

        estimator             that of `kind` itself (the paper: k3)
        k2                    value of `kind`, gradient of k2: the KL's own gradient, on-policy
        importance_weighted   r k with r = pi_theta / pi_old: the KL's own gradient also on samples
                              of the rollout policy, for k1 and k3 (whose mean is the KL)

    References:
        A Comedy of Estimators: On KL Regularization in RL Training of LLMs,
        https://arxiv.org/abs/2512.21852
        DeepSeek-V3.2 (unbiased KL estimate), https://arxiv.org/abs/2512.02556
    """

    kind: KLKind = "k3"
    gradient: KLGradient = "estimator"

    def __post_init__(self) -> None:
        """Refuse unknown names and combinations whose gradient is not the KL's."""
        if self.kind not in _KINDS:
            hint = did_you_mean(self.kind, _KINDS)
            raise ConfigError(f"kl.kind is {self.kind!r}; one of {', '.join(_KINDS)}.{hint}")
        if self.gradient not in _GRADIENTS:
            hint = did_you_mean(self.gradient, _GRADIENTS)
            raise ConfigError(
                f"kl.gradient is {self.gradient!r}; one of {', '.join(_GRADIENTS)}.{hint}"
            )
        if self.gradient == "importance_weighted" and self.kind not in ("k1", "k3"):
            raise ConfigError(
                f"kl.gradient=importance_weighted is the gradient of the KL only for kind k1 or "
                f"k3, whose mean is the KL; kind is {self.kind!r}."
            )

    def __call__(self, logprobs: Tensor, ref_logprobs: Tensor, log_ratio: Tensor) -> Tensor:
        """Return the term to minimise for each token.

        Args:
            logprobs: current log-probabilities `[B, L]`, with gradient.
            ref_logprobs: the reference's.
            log_ratio: current minus rollout log-probability, with gradient.
        """
        value = kl_estimate(logprobs, ref_logprobs, self.kind)
        if self.gradient == "estimator":
            return value
        if self.gradient == "k2":
            surrogate = kl_estimate(logprobs, ref_logprobs, "k2")
            return surrogate - surrogate.detach() + value.detach()
        return log_ratio.clamp(-_LOG_CLAMP, _LOG_CLAMP).exp() * value


@dataclass(frozen=True, kw_only=True)
class AdaptiveKL:
    """A KL coefficient that steers the KL to a target: proportional control.

    ::

        error = clip(kl / target - 1, -0.2, 0.2)
        coef' = coef (1 + error tokens / horizon)

    Pure: the caller keeps the coefficient (in its checkpoint) and puts it into the loss with
    `dataclasses.replace(policy_loss, kl_coef=...)`.

    References:
        Fine-Tuning Language Models from Human Preferences, https://arxiv.org/abs/1909.08593
    """

    target: float
    """Wanted mean KL per token, in nats."""
    horizon: int = 10_000
    """Action tokens after which an error of 20 % or more has changed the coefficient by 20 %; an
    update of more tokens changes it by no more."""

    def __post_init__(self) -> None:
        """Refuse targets that cannot be steered to."""
        if not self.target > 0.0 or self.horizon < 1:
            raise ConfigError(
                f"AdaptiveKL: target={self.target} must be above 0 and horizon={self.horizon} at "
                "least 1 token."
            )

    def __call__(self, coef: float, kl: float, tokens: int) -> float:
        """Return the next coefficient.

        Args:
            coef: the coefficient of the update that gave `kl`.
            kl: measured mean KL per action token (`ref_kl`).
            tokens: action tokens it was measured on.
        """
        if not math.isfinite(kl):  # of an update that was skipped
            return coef
        error = min(max(kl / self.target - 1.0, -0.2), 0.2)
        return coef * max(1.0 + error * min(tokens / self.horizon, 1.0), 0.0)
