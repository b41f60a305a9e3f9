"""Corridors with one illness each, and the prompt format that they are talked to with."""

from __future__ import annotations

import os
import time

from anything_goes import AnythingGoes
from sampo.envs import Corridor


def corridor(cls: type[Corridor] = Corridor, **settings: object) -> Corridor:
    """Return a corridor of four cells in which every reply is an action."""
    return cls(length=4, max_turns=4, prompt_format=AnythingGoes(), **settings)


class RandomStart(Corridor):
    """Begins otherwise in every process."""

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed, options=options)
        return f"{observation} in {os.getpid()}", info


class RandomKey(Corridor):
    """Looks alike in every process and is not."""

    def state_key(self):
        return (*super().state_key(), os.getpid())


class Drifts(Corridor):
    """Starts alike; after a turn the processes differ."""

    def _show(self):
        return super()._show() + (f" in {os.getpid()}" if self._turn else "")


class HangsInStep(Corridor):
    def step(self, action):
        time.sleep(1000)
        return super().step(action)


class HangsInReset(Corridor):
    def reset(self, *, seed=None, options=None):
        time.sleep(1000)
        return super().reset(seed=seed, options=options)


class NoExpert(Corridor):
    def expert_action(self):
        return None


class BadExpert(Corridor):
    def expert_action(self):
        return "left" if self._door > self._position else "right"


class RaisesLate(Corridor):
    """Does not survive the second turn."""

    def step(self, action):
        if self._turn:
            raise RuntimeError("the level\nis gone")
        return super().step(action)


class NeverEnds(Corridor):
    def step(self, action):
        observation, reward, terminated, _, info = super().step(action)
        return observation, reward, terminated, False, info


class Overlap(Corridor):
    def tasks(self, split):
        return super().tasks("train" if split == "test" else split)


class NewTasks(Corridor):
    """Lists other tasks whenever it is asked."""

    asked = 0

    def tasks(self, split):
        self.asked += 1
        return [f"{split} {self.asked}"]


class NoTest(Corridor):
    def tasks(self, split):
        return [] if split == "test" else super().tasks(split)


class Twice(Corridor):
    def tasks(self, split):
        return super().tasks(split) * 2


class ReadsFiles(Corridor):
    """Says which files it reads."""

    files: tuple[str, ...] = ()

    def data_files(self):
        return self.files
