# pyright: strict
"""Reward shaping that depends on the tokens and not on the environment.

Applied to a group after its episodes were filtered and before the estimator. It adds to
`Turn.penalty`, never to `Turn.reward`, so that returns and success rates stay what the environment
said.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from sampo.episode import EpisodeGroup, Turn
from sampo.errors import ConfigError


class RewardShaping(ABC):
    """From a group to the same group with other penalties."""

    @abstractmethod
    def __call__(self, group: EpisodeGroup, *, max_new_tokens: int) -> EpisodeGroup:
        """Return the group with shaped penalties.

        Args:
            group: what is trained on.
            max_new_tokens: most action tokens of a turn, by the training samples' settings.
        """


@dataclass(frozen=True, kw_only=True)
class OverlongPenalty(RewardShaping):
    """DAPO's soft punishment of replies that come close to their token limit.

    With `n` action tokens in the turn, the limit `L` of a reply, and `B = buffer_share L`::

        penalty += factor * clip((n - (L - B)) / B, 0, 1)

    Bounded by `factor`, as in the agent environments of the paper's code (its mathematics variant
    is not bounded).

    References:
        DAPO: An Open-Source LLM Reinforcement Learning System at Scale,
        https://arxiv.org/abs/2503.14476
    """

    buffer_share: float = 0.2
    """The last share of the limit, in (0, 1], whose tokens cost something."""
    factor: float = 0.1
    """Penalty at the limit."""

    def __post_init__(self) -> None:
        """Refuse a buffer that does not fit and a reward for length."""
        if not 0.0 < self.buffer_share <= 1.0 or not self.factor > 0.0:
            raise ConfigError(
                f"OverlongPenalty: buffer_share={self.buffer_share} must lie in (0, 1] and "
                f"factor={self.factor} must be above 0; for no penalty set data.shaping to null."
            )

    def __call__(self, group: EpisodeGroup, *, max_new_tokens: int) -> EpisodeGroup:
        """Return the group with the penalties of its long turns raised."""
        return replace(
            group,
            episodes=tuple(
                replace(
                    episode,
                    turns=tuple(self._shape(turn, max_new_tokens) for turn in episode.turns),
                )
                for episode in group.episodes
            ),
        )

    def _shape(self, turn: Turn, limit: int) -> Turn:
        buffer = self.buffer_share * limit
        share = min(max((len(turn.action_ids) - (limit - buffer)) / buffer, 0.0), 1.0)
        return replace(turn, penalty=turn.penalty + self.factor * share) if share else turn
