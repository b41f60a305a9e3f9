# pyright: strict
"""Action tokens lined up in the order in which they were written.

Discounting and GAE run backwards along the tokens of a turn or of a whole episode. In a window
context an episode is spread over rows, in a batch whose rows may be in any order; this file lines
its tokens up as `[C, T]` (`C` chains, `T` tokens of the longest) and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from sampo.advantages.batch import BatchAdvantageInputs


@dataclass(frozen=True, kw_only=True)
class Chains:
    """Action tokens by chain.

    Example (turns 4 and 6 of one episode in two rows, the later one first)::

        turn_ids  6 6 .        chain "episode":  4 6 6     ends_turn  1 0 1
                  . 4 .        chain "turn":     4 . | 6 6            1 . | 0 1
    """

    row: Tensor
    column: Tensor
    """int64 `[N]`: where each action token stands in the batch, chain by chain."""
    chain: Tensor
    step: Tensor
    """int64 `[N]`: which chain it belongs to, and its place there from 0."""
    ends_turn: Tensor
    """bool `[N]`: whether it is the last token of its turn."""

    def pad(self, values: Tensor) -> Tensor:
        """Return `[C, T]`: the values `[B, L]` of the action tokens in order, then zeros."""
        return self.pad_tokens(values[self.row, self.column])

    def pad_tokens(self, values: Tensor) -> Tensor:
        """Return `[C, T]` from one value per action token, `[N]` in the order of the chains."""
        count = int(self.chain.max()) + 1 if len(self.chain) else 0
        longest = int(self.step.max()) + 1 if len(self.step) else 0
        padded = values.new_zeros((count, longest))
        padded[self.chain, self.step] = values
        return padded

    def unpad(self, padded: Tensor, like: Tensor) -> Tensor:
        """Return `[B, L]` shaped and typed as `like`, zero where there is no action token."""
        values = torch.zeros_like(like)
        values[self.row, self.column] = padded[self.chain, self.step].to(like.dtype)
        return values


def chains(inputs: BatchAdvantageInputs, level: Literal["turn", "episode"]) -> Chains:
    """Line up the action tokens of every turn, or of every episode with its turns in order."""
    row, column = inputs.action_mask.nonzero(as_tuple=True)
    turn = inputs.turn_ids[row, column]
    episode = inputs.episode_ids[row, column]
    # Stable sorts, last key first: by episode, then by turn, then as the tokens stand in the row.
    order = torch.argsort(turn, stable=True)
    order = order[torch.argsort(episode[order], stable=True)]
    row, column, turn, episode = row[order], column[order], turn[order], episode[order]
    key = turn if level == "turn" else episode
    starts, ends_turn = _starts(key), _starts(turn).roll(-1)
    chain = starts.long().cumsum(0) - 1
    place = torch.arange(len(key), device=key.device)
    first = torch.where(starts, place, torch.zeros_like(place)).cummax(0).values
    return Chains(row=row, column=column, chain=chain, step=place - first, ends_turn=ends_turn)


def _starts(key: Tensor) -> Tensor:
    """Return where a sorted key differs from the one before; true at the first."""
    starts = torch.ones_like(key, dtype=torch.bool)
    starts[1:] = key[1:] != key[:-1]
    return starts


def token_rewards(inputs: BatchAdvantageInputs, lined: Chains, kl_coef: float) -> Tensor:
    """Return `[C, T]` float64: the turn's number on its last token, minus the KL of each token."""
    numbers = inputs.advantages[lined.row, lined.column].to(torch.float64)
    rewards = torch.where(lined.ends_turn, numbers, torch.zeros_like(numbers))
    if kl_coef > 0.0:
        assert inputs.kl is not None
        rewards = rewards - kl_coef * inputs.kl[lined.row, lined.column].to(torch.float64)
    return lined.pad_tokens(rewards)
