"""Every way in which a batch can misstate who wrote what."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from doctor.conftest import MakeInputs
from doctor.sick_worlds import corridor
from sampo.batch import RolloutBatch
from sampo.doctor.check import Status
from sampo.doctor.inputs import DoctorInputs, SmallRollout
from sampo.doctor.masks import MasksAndIds
from sampo.rollout.conversation import TranscriptContext


def examined(inputs: DoctorInputs, rollout: SmallRollout) -> object:
    vars(inputs)["small_rollout"] = rollout  # where a cached property keeps its value
    return MasksAndIds()(inputs)


@pytest.mark.parametrize("context", [None, TranscriptContext()])
def test_a_sound_batch(make_inputs: MakeInputs, context: TranscriptContext | None) -> None:
    settings = {} if context is None else {"context": context}
    result = MasksAndIds()(make_inputs(env=corridor(), **settings))
    assert result.status is Status.OK and "12 episodes" in result.detail


def first_action(batch: RolloutBatch) -> int:
    return int(batch.action_mask[0].nonzero()[0])


def with_prompt_marked(batch: RolloutBatch) -> RolloutBatch:
    mask = batch.action_mask.clone()
    mask[0, first_action(batch) - 1] = True
    return replace(batch, action_mask=mask)


def with_token_changed(batch: RolloutBatch) -> RolloutBatch:
    ids = batch.token_ids.clone()
    ids[0, first_action(batch)] += 1
    return replace(batch, token_ids=ids)


def with_turns_swapped(batch: RolloutBatch) -> RolloutBatch:
    last = int(batch.turn_ids.max())
    ids = batch.turn_ids
    return replace(batch, turn_ids=torch.where(ids < 0, ids, last - ids))


def with_one_episode(batch: RolloutBatch) -> RolloutBatch:
    return replace(batch, episode_ids=batch.episode_ids.clamp(max=0))


def with_ids_everywhere(batch: RolloutBatch) -> RolloutBatch:
    return replace(batch, turn_ids=batch.turn_ids.clamp(min=0))


def with_advantages_everywhere(batch: RolloutBatch) -> RolloutBatch:
    return replace(batch, advantages=torch.ones_like(batch.advantages))


def with_nan_advantages(batch: RolloutBatch) -> RolloutBatch:
    advantages = batch.advantages.masked_fill(batch.action_mask, torch.nan)
    return replace(batch, advantages=advantages)


def with_shifted_logprobs(batch: RolloutBatch) -> RolloutBatch:
    return replace(batch, sampling_logprobs=batch.sampling_logprobs.roll(1, dims=1))


def with_short_lengths(batch: RolloutBatch) -> RolloutBatch:
    return replace(batch, lengths=batch.lengths - 1)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (with_prompt_marked, "tokens are marked"),
        (with_token_changed, "tokens are marked"),
        (with_turns_swapped, "turn_ids do not number"),
        (with_one_episode, "episode_ids do not number"),
        (with_ids_everywhere, "did not write"),
        (with_advantages_everywhere, "not zero"),
        (with_nan_advantages, "not finite"),
        (with_shifted_logprobs, "log-probabilities do not lie"),
        (with_short_lengths, "padding"),
    ],
)
def test_spoilt_batches(
    make_inputs: MakeInputs, spoil: Callable[[RolloutBatch], RolloutBatch], says: str
) -> None:
    inputs = make_inputs(env=corridor())
    rollout, batch = inputs.small_rollout
    result = examined(inputs, SmallRollout(rollout, spoil(batch)))
    assert result.status is Status.FAILED and says in result.detail


def test_a_reply_that_its_tokens_do_not_say(make_inputs: MakeInputs) -> None:
    inputs = make_inputs(env=corridor())
    rollout, batch = inputs.small_rollout
    group, *others = rollout.groups
    episode, *rest = group.episodes
    turn = replace(episode.turns[0], reply="something else")
    episode = replace(episode, turns=(turn, *episode.turns[1:]))
    groups = (replace(group, episodes=(episode, *rest)), *others)
    result = examined(inputs, SmallRollout(replace(rollout, groups=groups), batch))
    assert result.status is Status.FAILED and "something else" in result.detail


def test_a_version_that_is_not_the_policys(make_inputs: MakeInputs) -> None:
    inputs = make_inputs(env=corridor())
    _ = inputs.small_rollout
    inputs.module.update_step = 3
    result = MasksAndIds()(inputs)
    assert result.status is Status.FAILED and "version 0" in result.detail
