"""Is what is trained on exactly what the policy wrote?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import torch
from torch import Tensor

from sampo.batch import RolloutBatch
from sampo.doctor.check import Check, CheckResult
from sampo.doctor.episodes import EpisodesPlay
from sampo.doctor.inputs import DoctorInputs
from sampo.episode import Episode
from sampo.rollout.chat import ChatRenderer


@dataclass(frozen=True, kw_only=True)
class MasksAndIds(Check):
    """The action mask marks the sampled tokens and no other; ids number turns and episodes."""

    name: ClassVar[str] = "masks and ids"
    fix: ClassVar[str] = (
        "This is a fault of the engine, the context or sampo itself: compare with "
        "TransformersEngine and WindowContext, and report it."
    )
    needs: ClassVar[tuple[type[Check], ...]] = (EpisodesPlay,)

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Look at the small rollout."""
        rollout, batch = inputs.small_rollout
        episodes = [episode for group in rollout.groups for episode in group.episodes]
        for problem in (
            token_problem(episodes, batch),
            text_problem(episodes, inputs.data.renderer),
            id_problem(episodes, batch),
            outside_problem(batch),
        ):
            if problem:
                return self.failed(problem)
        if batch.policy_version != inputs.module.update_step:
            return self.failed(
                f"the engine stamped version {batch.policy_version} on replies by version "
                f"{inputs.module.update_step}"
            )
        turns = sum(len(episode.turns) for episode in episodes)
        return self.ok(f"{turns} turns of {len(episodes)} episodes, token by token")


def token_problem(episodes: Sequence[Episode], batch: RolloutBatch) -> str:
    """Return whether other tokens are marked than those sampled; empty: they agree."""
    turns = [turn for episode in episodes for turn in episode.turns]
    sampled = list(chain.from_iterable(turn.action_ids for turn in turns))
    marked = batch.token_ids[batch.action_mask].tolist()
    if marked != sampled:
        return f"{len(marked)} tokens are marked, which are not the {len(sampled)} sampled ones"
    reported = list(chain.from_iterable(turn.sampling_logprobs for turn in turns))
    if not torch.equal(batch.sampling_logprobs[batch.action_mask], torch.tensor(reported)):
        return "log-probabilities do not lie on the tokens that the engine reported them for"
    return ""


def text_problem(episodes: Sequence[Episode], renderer: ChatRenderer) -> str:
    """Return which reply is not what its tokens say; empty: none."""
    for episode in episodes:
        for number, turn in enumerate(episode.turns):
            if (text := renderer.text(turn.action_ids)) != turn.reply:
                return (
                    f"task {episode.task!r}, turn {number}: the tokens say {text!r}, the reply is "
                    f"{turn.reply!r}"
                )
    return ""


def id_problem(episodes: Sequence[Episode], batch: RolloutBatch) -> str:
    """Return which ids do not number turns or episodes in order; empty: they do."""
    lengths = [[len(turn.action_ids) for turn in episode.turns] for episode in episodes]
    turn_lengths = torch.tensor(list(chain.from_iterable(lengths)))
    episode_lengths = torch.tensor([sum(of_episode) for of_episode in lengths])
    for name, ids, expected in (
        ("turn_ids", batch.turn_ids, turn_lengths),
        ("episode_ids", batch.episode_ids, episode_lengths),
    ):
        numbered = torch.arange(len(expected)).repeat_interleave(expected)
        if not torch.equal(ids[batch.action_mask], numbered):
            return f"{name} do not number the action tokens in order"
        if bool((ids[~batch.action_mask] != -1).any()):
            return f"{name} number tokens that the policy did not write"
    return ""


def outside_problem(batch: RolloutBatch) -> str:
    """Return what is wrong on tokens that the policy did not write; empty: nothing."""
    mask = batch.action_mask
    columns = torch.arange(mask.shape[1])
    if bool(mask[:, 0].any()) or bool(mask[columns >= batch.lengths[:, None]].any()):
        return "the first token of a row, or padding, is marked as written by the policy"
    if _nonzero(batch.advantages[~mask]) or _nonzero(batch.sampling_logprobs[~mask]):
        return (
            "advantages or log-probabilities are not zero on tokens that the policy did not write"
        )
    if not bool(torch.isfinite(batch.advantages).all()):
        return "advantages are not finite"
    return ""


def _nonzero(values: Tensor) -> bool:
    return bool((values != 0).any())
