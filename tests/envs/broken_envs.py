"""Corridors that break one law each."""

from __future__ import annotations

import random
from typing import ClassVar

from sampo.envs import Corridor, TagPrompt


class SetOrder(Corridor):
    """Lists its actions in the order of a set of strings, which differs between processes."""

    def _info(self):
        return {**super()._info(), "admissible_actions": list({"left", "right", *"abcdefgh"})}


class Unseeded(Corridor):
    """Random from the second turn on, where gymnasium's checker no longer looks."""

    def step(self, action):
        observation, *rest = super().step(action)
        return f"{observation} {random.random() if self._turn > 1 else ''}", *rest


class SharedState(Corridor):
    """All copies have one history."""

    history: ClassVar[list[str]] = []

    def reset(self, *, seed=None, options=None):
        self.history.clear()
        return super().reset(seed=seed, options=options)

    def step(self, action):
        self.history.append(action[:5])
        observation, *rest = super().step(action)
        return f"{observation} after {self.history}", *rest


class Remembers(Corridor):
    """Keeps something from one episode to the next."""

    episodes = -1

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed, options=options)
        self.episodes += 1
        return observation, {**info, "metrics": {"episodes": min(self.episodes, 1)}}


class ForgetsSettings(Corridor):
    """Is copied well, but pickled badly."""

    mood = "well"

    def __deepcopy__(self, memo):
        copied = type(self)()
        vars(copied).update(vars(self))
        return copied

    def __getstate__(self):
        return {**vars(self), "mood": "badly"}

    def _show(self):
        return f"{super()._show()} {self.mood}"


class NeverEnds(Corridor):
    def step(self, action):
        observation, reward, terminated, _, info = super().step(action)
        return observation, reward, terminated, False, info


class Raises(Corridor):
    def step(self, action):
        if action not in ("left", "right"):
            raise ValueError(f"unknown action {action[:5]!r}")
        return super().step(action)


class IdentityKey(Corridor):
    def state_key(self):
        return _Identity()


class _Identity:
    pass


class ExpertMoves(Corridor):
    """Asking the expert changes the world."""

    def expert_action(self):
        self._position = self._door - 1 if self._door else 1
        return super().expert_action()


class BadExpert(Corridor):
    def expert_action(self):
        return "left" if self._door > self._position else "right"


class Overlap(Corridor):
    def tasks(self, split):
        return super().tasks("train" if split == "test" else split)


class Shuffled(Corridor):
    def tasks(self, split):
        tasks = [f"{start}>4" for start in range(4)]
        return random.sample(tasks, 4) if split == "train" else []


class NoTasks(Corridor):
    def tasks(self, split):
        return []


class NumberTasks(Corridor):
    def tasks(self, split):
        return [1]


class NoFormat(Corridor):
    def __init__(self):
        super().__init__()
        del self.prompt_format


class NoLimit(Corridor):
    def __init__(self):
        super().__init__()
        self.max_turns = 0


class BadReward(Corridor):
    def step(self, action):
        observation, _, *rest = super().step(action)
        return observation, "much", *rest


class ForbiddenThought(TagPrompt):
    """Demonstrates what it does not accept."""

    def reply(self, action):
        return f"{action}!"


class Untrusting(Corridor):
    def __init__(self):
        super().__init__(prompt_format=ForbiddenThought())


class Unseedable(Corridor):
    """Does not seed `np_random`."""

    def reset(self, *, seed=None, options=None):
        return super().reset(options=options)
