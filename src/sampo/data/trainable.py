"""What rollouts can be trained on: asked before anything is played."""

from __future__ import annotations

from lightning.pytorch.utilities import rank_zero_warn

from sampo.advantages import AdvantageEstimator
from sampo.errors import ConfigError
from sampo.losses import OffPolicyCorrection
from sampo.rollout.engine import RolloutEngine, SamplingParams


def check_trainable(
    engine: RolloutEngine,
    sampling: SamplingParams,
    correction: OffPolicyCorrection | None,
    max_staleness: int,
) -> None:
    """Refuse rollouts that would be trained on as if the policy had written them, and had not.

    Args:
        engine: writes the replies.
        sampling: of training episodes.
        correction: the loss's.
        max_staleness: whether rollouts are played beside the update before them.

    Raises:
        ConfigError: the model is not ours; sampling is greedy, or truncated and not corrected; or
            the update would take the engine's weights or memory from a rollout beside it.
    """
    if engine.served_model:
        raise ConfigError(
            f"{engine.served_model} cannot be trained: its server gives text, without the token "
            "ids and log-probabilities of the policy's own. Choose another data.engine."
        )
    truncated = sampling.top_p < 1 or sampling.top_k > 0
    if sampling.temperature == 0 or (truncated and correction is None):
        raise ConfigError(
            "data.sampling must be the policy's own distribution in training (temperature above 0, "
            "top_p 1, top_k 0): replies from a truncated one would be trained on as if the policy "
            "had written them. Truncate in data.eval_sampling instead, or set "
            "model.loss.correction, which weighs them (temperature 0 remains refused)."
        )
    if max_staleness and engine.shares_weights:
        raise ConfigError(
            "data.max_staleness 1 plays a rollout while the policy is updated, but "
            f"{type(engine).__name__} samples from the very weights that change. Set "
            "data.engine.own_weights to true, which keeps a copy, or take another data.engine."
        )
    if max_staleness and engine.sleeps:
        raise ConfigError(
            "data.max_staleness 1 plays a rollout while the policy is updated, but "
            "data.engine.sleep takes the engine's memory for the update. Set one of them off."
        )


def warn_of_single_episodes(advantage: AdvantageEstimator, group_size: int) -> None:
    """Warn where there is nobody to compare an episode with."""
    if group_size == 1 and advantage.compares_episodes:
        rank_zero_warn(
            "data.group_size is 1, so group-relative advantages are all zero: "
            f"{type(advantage).__name__} has nothing to compare an episode with. Set it to 2 or "
            "more, or data.advantage to one for single episodes, such as ReMax."
        )
