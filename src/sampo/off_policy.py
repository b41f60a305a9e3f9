"""What a module asks of rollouts that are not quite its own policy's."""

from __future__ import annotations

from dataclasses import replace

from sampo.batch import RolloutBatch
from sampo.errors import ConfigError, EngineError
from sampo.losses import OffPolicyCorrection, PolicyLoss


def corrected(loss: PolicyLoss, old_logprobs: str, *, stale: bool) -> PolicyLoss:
    """Return the loss with the correction that its rollouts need.

    A rollout by an older policy is corrected by default; not where the ratio starts from the
    engine's log-probabilities, because then it is the correction.

    Args:
        loss: the configured one.
        old_logprobs: `recompute` or `engine`.
        stale: whether rollouts may be by an older policy.

    Raises:
        ConfigError: the correction has nothing to compare, or a value head cannot bear it.
    """
    if loss.correction is None:
        wanted = stale and old_logprobs == "recompute"
        return replace(loss, correction=OffPolicyCorrection()) if wanted else loss
    if old_logprobs == "engine":
        raise ConfigError(
            "model.loss.correction compares the trainer's old log-probabilities with the engine's, "
            "but model.old_logprobs is engine; set it to recompute, or the correction to null."
        )
    if loss.value is not None and loss.correction.rejects_episodes:
        raise ConfigError(
            "model.loss.correction rejects whole episodes, of which model.loss.value would learn "
            "that they return 0; set model.loss.correction.kind to truncate."
        )
    return loss


def check_version(batch: RolloutBatch, version: int, max_staleness: int) -> int:
    """Return how many updates the rollout's policy is behind.

    Args:
        batch: the rollout.
        version: of the policy that is about to be updated.
        max_staleness: most updates that it may be behind.

    Raises:
        EngineError: it is of another version than it may be.
    """
    staleness = version - batch.policy_version
    if not 0 <= staleness <= max_staleness:
        allowed = f", and data.max_staleness is {max_staleness}" if max_staleness else ""
        raise EngineError(
            f"The rollout was made by policy version {batch.policy_version}, but the policy is at "
            f"version {version}{allowed}. Add the WeightSync callback to the trainer."
        )
    return staleness
