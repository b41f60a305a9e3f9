"""Episodes into rows of exact tokens. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from sampo.batch import RolloutBatch
from sampo.episode import Episode


@dataclass(kw_only=True)
class _Row:
    """One token sequence in the making, one entry per token in each list."""

    token_ids: list[int] = field(default_factory=list)
    action_mask: list[bool] = field(default_factory=list)
    turn_ids: list[int] = field(default_factory=list)
    episode_ids: list[int] = field(default_factory=list)
    advantages: list[float] = field(default_factory=list)
    sampling_logprobs: list[float] = field(default_factory=list)

    def extend(
        self,
        ids: Sequence[int],
        *,
        turn: int = -1,
        episode: int = -1,
        advantage: float = 0.0,
        logprobs: Sequence[float] | None = None,
    ) -> None:
        written = turn >= 0
        self.token_ids.extend(ids)
        self.action_mask.extend([written] * len(ids))
        self.turn_ids.extend([turn] * len(ids))
        self.episode_ids.extend([episode] * len(ids))
        self.advantages.extend([advantage] * len(ids))
        self.sampling_logprobs.extend([0.0] * len(ids) if logprobs is None else logprobs)


def collate(
    episodes: Sequence[Episode],
    advantages: Sequence[Sequence[float]],
    *,
    pad_id: int,
) -> RolloutBatch:
    """Return the rows of all episodes, in order, with advantages broadcast over each turn.

    A row runs from a turn that `starts_row` up to the next one. A turn without any sampled token
    contributes its prompt only.

    Args:
        episodes: finished episodes, none of them failed.
        advantages: per episode, per turn.
        pad_id: fills rows up to the longest; never trained on.

    Raises:
        ValueError: there is nothing to collate, or the shapes do not fit.
    """
    rows: list[_Row] = []
    turn_number = 0
    for episode_number, (episode, values) in enumerate(zip(episodes, advantages, strict=True)):
        for turn, advantage in zip(episode.turns, values, strict=True):
            if turn.starts_row:
                rows.append(_Row())
            row = rows[-1]
            row.extend(turn.prompt_ids)
            row.extend(
                turn.action_ids,
                turn=turn_number,
                episode=episode_number,
                advantage=advantage,
                logprobs=turn.sampling_logprobs,
            )
            turn_number += 1
    if not rows:
        raise ValueError("No turn to collate.")
    lengths = [len(row.token_ids) for row in rows]
    width = max(lengths)

    def padded(name: str, fill: float, dtype: torch.dtype) -> torch.Tensor:
        values = [getattr(row, name) + [fill] * (width - len(row.token_ids)) for row in rows]
        return torch.tensor(values, dtype=dtype)

    return RolloutBatch(
        token_ids=padded("token_ids", pad_id, torch.int64),
        lengths=torch.tensor(lengths, dtype=torch.int64),
        action_mask=padded("action_mask", False, torch.bool),
        turn_ids=padded("turn_ids", -1, torch.int64),
        episode_ids=padded("episode_ids", -1, torch.int64),
        advantages=padded("advantages", 0.0, torch.float32),
        sampling_logprobs=padded("sampling_logprobs", 0.0, torch.float32),
        policy_version=min(episode.policy_version for episode in episodes),
    )
