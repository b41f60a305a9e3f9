"""The one agent-environment loop, on a real environment with scripted replies."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sampo.envs.toy import Corridor
from sampo.episode import Episode, FinishReason, StopReason
from sampo.errors import ConfigError
from sampo.rollout.agents import DemonstratorAgent, EngineAgent
from sampo.rollout.chat import ChatRenderer
from sampo.rollout.collector import Collector, EpisodeRequest, EpisodeSettings
from sampo.rollout.conversation import ContextPolicy, TranscriptContext, WindowContext
from sampo.rollout.engine import SamplingParams
from sampo.rollout.scripted_engine import ScriptedEngine
from sampo.rollout.workers import EnvPool
from tiny import tiny_tokenizer

LEFT, RIGHT = "<action>left</action>", "<action>right</action>"


class Fragile(Corridor):
    """Breaks in ways that a task's start cell chooses."""

    def reset(self, *, seed=None, options=None):
        """Raise on start cell 3."""
        result = super().reset(seed=seed, options=options)
        if self._position == 3:
            raise RuntimeError("the level is missing")
        return result


class Wordy(Corridor):
    """Says too much on start cell 3."""

    def reset(self, *, seed=None, options=None):
        """Fill the context on start cell 3."""
        observation, info = super().reset(seed=seed, options=options)
        return (observation * 1000 if self._position == 3 else observation), info


@contextmanager
def collector(
    replies: list[str],
    *,
    env: Corridor | None = None,
    context: ContextPolicy | None = None,
    context_length: int = 2000,
    max_new_tokens: int = 64,
    max_concurrent: int = 8,
    expert_noise: float | None = None,
) -> Iterator[Collector]:
    env = env or Corridor(max_turns=3)
    chat = ChatRenderer(tiny_tokenizer())
    engine = ScriptedEngine(replies)
    engine.bind(chat.tokenizer)
    agent = EngineAgent(engine, SamplingParams(max_new_tokens=max_new_tokens))
    if expert_noise is not None:
        agent = DemonstratorAgent(chat, env.prompt_format, noise=expert_noise)
    settings = EpisodeSettings(
        renderer=chat,
        prompt_format=env.prompt_format,
        context=context or WindowContext(history=1),
        context_length=context_length,
        max_new_tokens=max_new_tokens,
    )
    with EnvPool(env, num_workers=0, with_expert=agent.needs_expert) as pool:
        yield Collector(pool, agent, settings, max_concurrent=max_concurrent)


def request(task: str, sampling_seed: int = 0) -> EpisodeRequest:
    return EpisodeRequest(task=task, env_seed=0, sampling_seed=sampling_seed)


def rewards(episode: Episode) -> list[float]:
    return [turn.reward for turn in episode.turns]


def test_rewards_belong_to_the_turn_that_earned_them() -> None:
    """From 2, the door of 5 cells at 4: right costs 0.1, the next right reaches it (0.9)."""
    with collector([RIGHT]) as loop:
        (episode,) = loop.run([request("2>4")])
    assert rewards(episode) == pytest.approx([-0.1, 0.9])
    assert episode.success and episode.stop_reason is StopReason.TERMINATED
    assert [turn.observation for turn in episode.turns] == ["at 2 door 4", "at 3 door 4"]
    assert [turn.state_key for turn in episode.turns] == [(2, 4), (3, 4)]
    assert [turn.action for turn in episode.turns] == ["right", "right"]
    assert all(turn.penalty == 0 and turn.action_valid for turn in episode.turns)


def test_episodes_end_at_the_turn_limit() -> None:
    with collector([LEFT]) as loop:
        (episode,) = loop.run([request("1>4")])
    assert rewards(episode) == pytest.approx([-0.1] * 3)
    assert not episode.success and episode.stop_reason is StopReason.MAX_TURNS


def test_invalid_replies_are_turns_with_a_penalty() -> None:
    """No tags: nothing is done. Tags in text: done, but the format is broken."""
    with collector(["hello", f"so {RIGHT}", RIGHT], env=Corridor(max_turns=3)) as loop:
        (episode,) = loop.run([request("2>4")])
    assert [turn.action for turn in episode.turns] == [None, "right", "right"]
    assert [turn.penalty for turn in episode.turns] == [0.1, 0.1, 0.0]
    assert [turn.format_valid for turn in episode.turns] == [False, False, True]
    assert episode.success and episode.reward == pytest.approx(0.7)
    assert episode.score == pytest.approx(0.5)


def test_episodes_come_back_in_order_whatever_their_length() -> None:
    tasks = ["1>4", "2>4", "1>0", "3>0", "2>4"]
    with collector([RIGHT], max_concurrent=2) as loop:
        episodes = loop.run([request(task) for task in tasks])
    assert [episode.task for episode in episodes] == tasks
    assert [len(episode.turns) for episode in episodes] == [3, 2, 3, 3, 2]


def test_rows_hold_the_prompt_and_the_reply() -> None:
    with collector([RIGHT], context=TranscriptContext()) as loop:
        (episode,) = loop.run([request("2>4")])
    assert [turn.starts_row for turn in episode.turns] == [True, False]
    chat = ChatRenderer(tiny_tokenizer())
    assert all(turn.action_ids == chat.reply_ids(RIGHT) for turn in episode.turns)
    assert all(len(turn.sampling_logprobs) == len(turn.action_ids) for turn in episode.turns)


def test_an_episode_that_outgrows_the_context_is_truncated() -> None:
    with collector([LEFT], context=TranscriptContext(), env=Corridor(max_turns=8)) as loop:
        (whole,) = loop.run([request("1>4")])
    used = sum(len(turn.prompt_ids) + len(turn.action_ids) for turn in whole.turns[:2])
    with collector([LEFT], context=TranscriptContext(), context_length=used) as loop:
        (episode,) = loop.run([request("1>4")])
    assert len(episode.turns) == 2 and episode.stop_reason is StopReason.CONTEXT


def test_a_reply_gets_what_the_context_leaves() -> None:
    with collector([LEFT]) as loop:
        (whole,) = loop.run([request("1>4")])
    room = len(whole.turns[0].prompt_ids) + 2
    with collector([LEFT], context_length=room) as loop:
        (episode,) = loop.run([request("1>4")])
    first = episode.turns[0]
    assert len(first.action_ids) == 2 and first.finish_reason is FinishReason.LENGTH


def test_a_first_prompt_that_does_not_fit_is_the_users_error() -> None:
    with (
        collector([LEFT], context_length=4) as loop,
        pytest.raises(ConfigError, match=r"leaves no room.*Raise data\.context_length"),
    ):
        loop.run([request("1>4")])


def test_a_failed_environment_costs_its_own_episode() -> None:
    with collector([RIGHT], env=Fragile(max_turns=3)) as loop:
        broken, fine = loop.run([request("3>4"), request("2>4")])
    assert broken.failed and broken.turns == () and not broken.success
    assert broken.error is not None and "the level is missing" in broken.error
    assert fine.success
    assert loop.num_retries == 1


def test_a_run_that_broke_off_leaves_no_trace() -> None:
    with collector([RIGHT], env=Wordy(max_turns=3)) as loop:
        with pytest.raises(ConfigError, match="leaves no room"):
            loop.run([request("2>4"), request("3>4")])
        (episode,) = loop.run([request("2>4")])
    assert episode.success


def test_the_expert_solves_and_its_noise_is_seeded() -> None:
    with collector([LEFT], expert_noise=0.0) as loop:
        (perfect,) = loop.run([request("1>4")])
    assert perfect.success and [turn.action for turn in perfect.turns] == ["right"] * 3
    with collector([LEFT], expert_noise=1.0, env=Corridor(max_turns=8)) as loop:
        runs = [loop.run([request("2>4", seed)])[0] for seed in (1, 1, 2, 3)]
    actions = [[turn.action for turn in episode.turns] for episode in runs]
    assert actions[0] == actions[1]
    assert any(other != actions[0] for other in actions[2:])
