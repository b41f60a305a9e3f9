"""The two engines that `bench_alfworld.py` compares: TextWorld's own environment, and ours."""

from __future__ import annotations

import json
from typing import Any

import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
from textworld.envs import PddlEnv

import sampo_envs.alfworld.engine  # noqa: F401  what it takes to import it is no part of a reset
from sampo_envs.alfworld import AlfworldEnv, open_games

Shown = tuple[str, list[str], bool]
"""Text, commands without `help`, and whether the game is won."""


class Ours:
    """Our environment."""

    def __init__(self, data: str) -> None:
        self.env = AlfworldEnv(data=data, max_turns=1000)

    def reset(self, task: str) -> Shown:
        observation, info = self.env.reset(seed=0, options={"task": task})
        return observation, info["admissible_actions"], info["success"]

    def step(self, command: str) -> Shown:
        observation, _, _, _, info = self.env.step(command)
        return observation, info["admissible_actions"], info["success"]


class Plain:
    """TextWorld's environment, with a game loaded once for all its episodes."""

    def __init__(self, data: str) -> None:
        self.games, self.task = open_games(data), ""

    def reset(self, task: str) -> Shown:
        if task != self.task:
            infos = textworld.EnvInfos(won=True, admissible_commands=True)
            self.env, self.task = AlfredDemangler(PddlEnv(infos), shuffle=False), task
            self.env.load(json.loads(self.games.read(task)))
        return self._shown(self.env.reset())

    def step(self, command: str) -> Shown:
        return self._shown(self.env.step(command)[0])

    def _shown(self, state: Any) -> Shown:
        commands = [one for one in state["admissible_commands"] if one != "help"]
        return state["feedback"], commands, state["won"]
