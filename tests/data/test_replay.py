"""Demonstrations become the tokens that a rollout of the same replies would have had."""

from dataclasses import replace

import pytest

from sampo.data.collate import collate
from sampo.data.replay import replay
from sampo.envs import Corridor
from sampo.episode import Episode, StopReason, Turn
from sampo.errors import ConfigError
from sampo.rollout.agents import EngineAgent
from sampo.rollout.chat import ChatRenderer
from sampo.rollout.collector import Collector, EpisodeRequest, EpisodeSettings
from sampo.rollout.conversation import TranscriptContext, WindowContext
from sampo.rollout.engine import SamplingParams
from sampo.rollout.scripted_engine import ScriptedEngine
from sampo.rollout.workers import EnvPool
from tiny import FORGETFUL_TEMPLATE, tiny_tokenizer

RENDERER = ChatRenderer(tiny_tokenizer())
ENV = Corridor(length=6, max_turns=5)
CONTEXTS = [WindowContext(history=2), TranscriptContext()]


def played(context, replies):
    """Return an episode of real tokens in which the given replies were sampled."""
    engine = ScriptedEngine(replies)
    engine.bind(RENDERER.tokenizer)
    settings = EpisodeSettings(
        renderer=RENDERER,
        prompt_format=ENV.prompt_format,
        context=context,
        context_length=4096,
        max_new_tokens=64,
        invalid_action_penalty=0.0,
    )
    with EnvPool(ENV, num_workers=0) as pool:
        collector = Collector(pool, EngineAgent(engine, SamplingParams()), settings)
        (episode,) = collector.run([EpisodeRequest(task="2>5", env_seed=3, sampling_seed=4)])
    return episode


def text_only(episode):
    """Return what a Parquet file keeps of an episode."""
    bare = {"state_key": None, "starts_row": True}
    tokens = {"prompt_ids": (), "action_ids": (), "sampling_logprobs": ()}
    return replace(episode, turns=tuple(replace(t, **bare, **tokens) for t in episode.turns))


@pytest.mark.parametrize("context", CONTEXTS, ids=["window", "transcript"])
def test_replay_gives_the_tokens_of_the_rollout(context):
    replies = ["<action>right</action>", "<action>left</action>", "go left", "<action>up</action>"]
    original = played(context, replies)
    assert [turn.action_valid for turn in original.turns[:4]] == [True, True, False, False]
    again = replay(text_only(original), RENDERER, ENV.prompt_format, context, 4096)
    assert again == replace(
        original, turns=tuple(replace(turn, state_key=None) for turn in original.turns)
    )


def test_loss_falls_on_the_replies_and_their_end_only():
    """Transcript of two turns; the mask is on `<action>..</action><|im_end|>` twice.

    user prompt | assistant reply | user followup | assistant reply
    0 0 0 0 0 0 | 1 1 1 1 1       | 0 0 0 0 0     | 1 1 1 1 1
    """
    original = played(TranscriptContext(), ["<action>right</action>"])
    episode = replace(original, turns=original.turns[:2])
    again = replay(text_only(episode), RENDERER, ENV.prompt_format, TranscriptContext(), 4096)
    batch = collate([again], [[0.0, 0.0]], pad_id=0)
    assert len(batch) == 1
    masked = batch.token_ids[batch.action_mask]
    reply = [*RENDERER.tokenizer.encode("<action>right</action>"), RENDERER.end_id]
    assert masked.tolist() == reply * 2
    runs = batch.action_mask[0].int().diff(prepend=batch.action_mask.new_zeros(1).int())
    assert int((runs == 1).sum()) == 2


def test_a_template_that_forgets_thoughts_starts_a_new_row():
    renderer = ChatRenderer(tiny_tokenizer(FORGETFUL_TEMPLATE))
    reply = "<think>why</think><action>right</action>"
    turns = tuple(
        Turn(observation=f"at {n} door 5", reply=reply, action="right", reward=0.0)
        for n in range(3)
    )
    episode = Episode(
        task="0>5", seed=0, turns=turns, success=False, stop_reason=StopReason.MAX_TURNS
    )
    again = replay(episode, renderer, ENV.prompt_format, TranscriptContext(), 4096)
    assert [turn.starts_row for turn in again.turns] == [True, True, True]


def test_a_demonstration_ends_before_the_turn_that_does_not_fit():
    original = played(TranscriptContext(), ["<action>left</action>"])
    first, second = original.turns[:2]
    room = len(first.prompt_ids) + len(first.action_ids)
    cut = replay(text_only(original), RENDERER, ENV.prompt_format, TranscriptContext(), room)
    assert [turn.action_ids for turn in cut.turns] == [first.action_ids]
    assert cut.stop_reason is StopReason.CONTEXT
    more = room + len(second.prompt_ids) + len(second.action_ids)
    longer = replay(text_only(original), RENDERER, ENV.prompt_format, TranscriptContext(), more)
    assert len(longer.turns) == 2


def test_replies_of_another_prompt_format_are_refused():
    original = text_only(played(WindowContext(), ["<action>right</action>"]))
    other = replace(original, turns=(replace(original.turns[0], reply="RIGHT!"),))
    with pytest.raises(ConfigError, match="meant 'right' when it was collected"):
        replay(other, RENDERER, ENV.prompt_format, WindowContext(), 4096)
