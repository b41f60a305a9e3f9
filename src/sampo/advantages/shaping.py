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
    def __call__(self, group: EpisodeGroup) -> EpisodeGroup:
        """Return the group with shaped penalties."""


@dataclass(frozen=True, kw_only=True)
class OverlongPenalty(RewardShaping):
    """DAPO's soft punishment of replies that come close to their token limit.

    With `n` action tokens in the turn::

        penalty += factor * clip((n - (max_length - buffer)) / buffer, 0, 1)

    Bounded by `factor`, as in the agent environments of the paper's code (its mathematics variant
    is not bounded).

    References:
        DAPO: An Open-Source LLM Reinforcement Learning System at Scale,
        https://arxiv.org/abs/2503.14476
    """

    max_length: int
    """Most action tokens of a turn: the engine's limit."""
    buffer: int
    """The last so many tokens before the limit cost something (the paper: a fifth)."""
    factor: float = 0.1
    """Penalty at the limit."""

    def __post_init__(self) -> None:
        """Refuse a buffer that does not fit and a reward for length."""
        if not 0 < self.buffer <= self.max_length or self.factor < 0.0:
            raise ConfigError(
                f"OverlongPenalty: buffer={self.buffer} must lie between 1 and "
                f"max_length={self.max_length}, and factor={self.factor} must not be negative."
            )

    def __call__(self, group: EpisodeGroup) -> EpisodeGroup:
        """Return the group with the penalties of its long turns raised."""
        return replace(
            group,
            episodes=tuple(
                replace(episode, turns=tuple(self._shape(turn) for turn in episode.turns))
                for episode in group.episodes
            ),
        )

    def _shape(self, turn: Turn) -> Turn:
        excess = len(turn.action_ids) - (self.max_length - self.buffer)
        share = min(max(excess / self.buffer, 0.0), 1.0)
        return replace(turn, penalty=turn.penalty + self.factor * share) if share else turn
