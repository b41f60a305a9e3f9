"""An episode sends its next turn when its environment answers, whoever else still waits."""

import time
from collections import defaultdict

from sampo.envs.toy import Corridor
from sampo.episode import Completion, FinishReason
from sampo.rollout.agents import Agent
from sampo.rollout.chat import ChatRenderer
from sampo.rollout.collector import Collector, EpisodeRequest, EpisodeSettings
from sampo.rollout.conversation import WindowContext
from sampo.rollout.workers import EnvPool
from tiny import tiny_tokenizer

LEFT = "<action>left</action>"


class Slow(Corridor):
    """Answers a step after a while, so that the collector always has to wait for it."""

    def step(self, action):
        time.sleep(0.05)
        return super().step(action)


class HeldUp(Agent):
    """Answers one episode's first turn only when the other has asked for its third."""

    def __init__(self, chat: ChatRenderer) -> None:
        self.ids = chat.reply_ids(LEFT)
        self.asked: list = []
        self.turns: dict = defaultdict(int)
        self.slow = None

    def submit(self, requests):
        for request in requests:
            self.turns[request.key] += 1
            self.asked.append(request.key)
        if self.slow is None and len(self.turns) == 2:
            self.slow = self.asked[-1]

    def _open(self):
        others = [turns for key, turns in self.turns.items() if key != self.slow]
        return [k for k in self.asked if k != self.slow or max(others) >= 3]

    def ready(self, timeout_s):
        if not self._open():
            time.sleep(timeout_s)
        return bool(self._open())

    def collect(self):
        done = self._open()
        assert done, "blocked on one reply while an environment was about to answer"
        self.asked = [key for key in self.asked if key not in done]
        return [
            (
                key,
                Completion(
                    token_ids=self.ids,
                    logprobs=(0.0,) * len(self.ids),
                    finish_reason=FinishReason.STOP,
                    policy_version=0,
                ),
            )
            for key in done
        ]


def test_a_slow_reply_holds_up_its_own_episode_only() -> None:
    env = Slow(length=9, max_turns=4)
    chat = ChatRenderer(tiny_tokenizer())
    agent = HeldUp(chat)
    settings = EpisodeSettings(
        renderer=chat,
        prompt_format=env.prompt_format,
        context=WindowContext(history=0),
        context_length=500,
        max_new_tokens=16,
    )
    requests = [EpisodeRequest(task="4>8", env_seed=0, sampling_seed=seed) for seed in (1, 2)]
    with EnvPool(env, num_workers=1) as pool:
        episodes = Collector(pool, agent, settings).run(requests)
    assert [len(episode.turns) for episode in episodes] == [4, 4]
