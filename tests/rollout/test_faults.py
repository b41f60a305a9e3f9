"""Environments that hang, crash or talk nonsense, in real workers under the real loop."""

import os
import time
from typing import Any

import pytest

from sampo.envs.toy import Corridor
from sampo.episode import Episode
from sampo.rollout.agents import EngineAgent
from sampo.rollout.chat import ChatRenderer
from sampo.rollout.collector import Collector, EpisodeRequest, EpisodeSettings
from sampo.rollout.conversation import WindowContext
from sampo.rollout.engine import SamplingParams
from sampo.rollout.scripted_engine import ScriptedEngine
from sampo.rollout.workers import EnvPool
from tiny import tiny_tokenizer

RIGHT = "<action>right</action>"
TASKS = ["1>4", "2>4", "3>0", "0>4"]


class Saboteur(Corridor):
    """Breaks on the second step of the task that starts in cell 1."""

    def __init__(self, how: str) -> None:
        super().__init__(max_turns=4)
        self.how = how

    def step(self, action: str) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        if self._door == 4 and self._turn == 2 and self._position == 3:
            if self.how == "hang":
                time.sleep(600)
            elif self.how == "exit":
                os._exit(3)
            elif self.how == "raise":
                raise KeyError("level 7")
            elif self.how == "nonsense":
                return observation, "much", terminated, truncated, info
        return observation, reward, terminated, truncated, info


def play(env: Corridor) -> tuple[list[Episode], Collector]:
    chat = ChatRenderer(tiny_tokenizer())
    engine = ScriptedEngine([RIGHT])
    engine.bind(chat.tokenizer)
    settings = EpisodeSettings(
        renderer=chat,
        prompt_format=env.prompt_format,
        context=WindowContext(history=0),
        context_length=2000,
        max_new_tokens=32,
    )
    agent = EngineAgent(engine, SamplingParams(max_new_tokens=32))
    with EnvPool(env, num_workers=1, step_timeout_s=1.0) as pool:
        loop = Collector(pool, agent, settings)
        episodes = loop.run([EpisodeRequest(task=t, env_seed=0, sampling_seed=0) for t in TASKS])
    return episodes, loop


@pytest.mark.parametrize(
    ("how", "told"),
    [("hang", "1"), ("exit", "3"), ("raise", "level 7"), ("nonsense", "reward")],
)
def test_a_broken_environment_costs_its_own_episode_and_nothing_else(how: str, told: str) -> None:
    """From 1 and from 2 the walker is in cell 3 after 2 and 1 steps: only task 1>4 breaks."""
    expected, _ = play(Corridor(max_turns=4))
    episodes, loop = play(Saboteur(how))
    broken, *others = episodes
    assert broken.failed and broken.error is not None and told in broken.error
    assert len(broken.turns) == 2 and not broken.success
    assert others == expected[1:]
    assert loop.num_retries == 1
