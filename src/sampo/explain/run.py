"""What is explained: the settings of a run that decide what it optimises and what that costs.

A view on the instantiated module and data module; nothing is loaded, and nothing is changed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sampo.advantages import GAE, BatchAdvantage, EntropyModulation, KLReward, Whiten
from sampo.data.datamodule import RolloutDataModule
from sampo.filtering import AllOf, GroupFilter, KeepAll
from sampo.losses import PolicyLoss
from sampo.module import SampoModule
from sampo.rollout.conversation import ContextPolicy, TranscriptContext

_RATIO_SYMBOLS = {"token": "r_t", "turn": "s_i", "episode": "s_e"}


@dataclass(frozen=True, kw_only=True)
class Span:
    """A number that is known only within bounds before anything is played."""

    least: int
    most: int

    def __str__(self) -> str:
        """Return `6`, or `3 to 20`."""
        if self.least == self.most:
            return f"{self.most:,}"
        return f"{self.least:,} to {self.most:,}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """A run as its config describes it."""

    model: SampoModule
    data: RolloutDataModule
    updates: int | None
    """Updates of the whole run; None where nothing bounds them."""

    @property
    def loss(self) -> PolicyLoss:
        """Dials 1 and 2."""
        return self.model.loss

    @property
    def stage(self) -> BatchAdvantage | None:
        """The second stage of dial 3."""
        return self.model.batch_advantage

    @property
    def context(self) -> ContextPolicy:
        """What decides what a row is."""
        return self.data.player.context

    @property
    def rows_are_episodes(self) -> bool:
        """Whether a row holds a whole episode, and not a turn."""
        return isinstance(self.context, TranscriptContext)

    @property
    def reference(self) -> bool:
        """Whether the first policy is scored, too: a frozen copy, or the adapters' base."""
        return bool(self.model.hparams["reference"])

    @property
    def engines_logprobs(self) -> bool:
        """Whether the ratio starts from the engine's log-probabilities."""
        return self.model.hparams["old_logprobs"] == "engine"

    @property
    def kl_in_reward(self) -> float:
        """Coefficient of the KL in the reward; 0 where it is not there."""
        return self.stage.kl_coef if isinstance(self.stage, KLReward | Whiten | GAE) else 0.0

    @property
    def uses_kl(self) -> bool:
        """Whether anything pulls to the reference."""
        in_reward = self.stage is not None and "kl" in self.stage.requires
        return self.loss.kl_coef > 0.0 or in_reward

    @property
    def episodes(self) -> int:
        """Episodes that an update trains on, at most: failed and rejected ones are missing."""
        return self.data.plan.groups_per_update * self.data.plan.group_size

    @property
    def max_turns(self) -> int:
        """Most turns of an episode."""
        return self.data.player.env.max_turns

    @property
    def max_new_tokens(self) -> int:
        """Most tokens of a training reply."""
        return self.data.sampling.max_new_tokens

    @property
    def rows(self) -> Span:
        """Rows that an update trains on."""
        turns = 1 if self.rows_are_episodes else self.max_turns
        return Span(least=self.episodes, most=self.episodes * turns)

    @property
    def steps(self) -> Span:
        """Optimiser steps of an update."""
        least, most = (self._steps(rows) for rows in (self.rows.least, self.rows.most))
        return Span(least=least, most=most)

    def _steps(self, rows: int) -> int:
        """Return the optimiser steps on so many rows: a mini-batch is never empty."""
        plan = self.model.mini_batches
        parts = plan.number or 1 if plan.rows is None else math.ceil(rows / plan.rows)
        whole_episodes = self.loss.keep_together_in_mini_batch == "episode"
        return min(parts, self.episodes if whole_episodes else rows) * plan.epochs

    @property
    def one_step(self) -> bool:
        """Whether an update is a single optimiser step, so that every ratio is 1."""
        return self.steps.most == 1 and not self.engines_logprobs

    @property
    def group_filters(self) -> tuple[GroupFilter, ...]:
        """The filters of groups, taken out of an `AllOf`, without those that keep everything."""
        chosen = self.data.judges.group_filter
        each = chosen.filters if isinstance(chosen, AllOf) else (chosen,)
        return tuple(part for part in each if not isinstance(part, KeepAll))

    @property
    def filters(self) -> bool:
        """Whether a group may be judged not worth an update."""
        return bool(self.group_filters)

    @property
    def ratio_symbol(self) -> str:
        """The importance ratio: of token t, turn i or episode e."""
        return _RATIO_SYMBOLS[self.loss.ratio.level]

    @property
    def advantage_per_turn(self) -> bool:
        """Whether all tokens of a turn have the same advantage."""
        return self.stage is None or type(self.stage) in (EntropyModulation, KLReward)

    @property
    def advantage_symbol(self) -> str:
        """The advantage that the loss sees: of turn i or token t."""
        return "A_i" if self.advantage_per_turn else "A_t"

    @property
    def first_stage_symbol(self) -> str:
        """What `data.advantage` gives a turn: the advantage, or what the stage starts from."""
        return "A_i" if self.stage is None else "A⁰_i"
