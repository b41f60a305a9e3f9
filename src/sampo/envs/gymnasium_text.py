"""Any gymnasium environment with text in and text out, by its id.

An environment that speaks numbers is made textual by a `TextAdapter` (see
`sampo.envs.frozen_lake`). Nothing here knows a particular game.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from importlib import import_module
from typing import Any

import gymnasium

from sampo.envs.base import TextEnv, task_of
from sampo.envs.prompt import PromptFormat
from sampo.envs.spaces import AnyText
from sampo.envs.tags import TagPrompt
from sampo.errors import ConfigError


class TextAdapter(gymnasium.Wrapper[str, str, Any, Any]):
    """A gymnasium wrapper that turns observations into text and text into actions.

    Subclasses write `reset`, `step` and `state_key`, and put `admissible_actions` and `success`
    into `info` where they can; the laws of `TextEnv` hold for them too.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.observation_space = AnyText()
        self.action_space = AnyText()

    @abstractmethod
    def state_key(self) -> Hashable:
        """Return a canonical, hashable and picklable key of the present state."""

    def expert_action(self) -> str | None:
        """Return a good action for the present state, or None where there is no expert."""
        return None


class GymnasiumTextEnv(TextEnv):
    """A registered gymnasium environment as a `TextEnv`.

    Description:
        A task is the seed, in decimal, that the inner environment is reset with, so that it
        stands for all that is random in there. Tasks 0, 1, ... are `train`; the next ones are
        `val`, then `test`. The seed of `reset` changes nothing else.

    Actions:
        Those of the inner environment. One that lists no `admissible_actions` has to bear any
        string.

    Observations:
        Those of the inner environment.

    Reward:
        That of the inner environment.

    Episode end:
        That of the inner environment, its own time limit included; besides, truncated after
        `max_turns` turns.

    State key:
        That of the `TextAdapter`; without one, the observation, which is right only where the
        observation tells the whole state.

    Version history:
        1: first version.

    Args:
        env_id: Registered id, e.g. `FrozenLake-v1`; `package.module:Name-v0` imports the module
            first.
        env_kwargs: Arguments of the inner environment.
        wrapper: The dotted path of a callable, or a picklable callable itself, that takes the
            inner environment and returns one with text in and out, e.g. a `TextAdapter` class.
        max_turns: Most turns of an episode.
        num_train: Number of training tasks.
        num_val: Number of validation tasks.
        num_test: Number of test tasks.
        prompt_format: How it is talked to; None is a plain `TagPrompt`.

    Raises:
        ConfigError: From `reset`: the id, the wrapper or the task does not exist, or the result
            does not have text spaces.
    """

    def __init__(
        self,
        env_id: str,
        *,
        env_kwargs: Mapping[str, Any] | None = None,
        wrapper: str | Callable[[gymnasium.Env[Any, Any]], gymnasium.Env[str, str]] | None = None,
        max_turns: int = 100,
        num_train: int = 1000,
        num_val: int = 100,
        num_test: int = 100,
        prompt_format: PromptFormat | None = None,
    ) -> None:
        self.env_id = env_id
        self.env_kwargs = dict(env_kwargs or {})
        self.wrapper = wrapper
        self.max_turns = max_turns
        self.prompt_format = prompt_format or TagPrompt()
        self._ends = {"train": num_train, "val": num_val, "test": num_test}
        self._inner: gymnasium.Env[str, str] | None = None
        self._observation = ""
        self._turn = 0

    def tasks(self, split: str) -> list[str]:
        """Return the seeds of a split, as decimal strings."""
        start = 0
        for name, count in self._ends.items():
            if name == split:
                return [str(seed) for seed in range(start, start + count)]
            start += count
        raise ConfigError(f"No split {split!r}; there are {', '.join(self._ends)}.")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Reset the inner environment with the task as its seed."""
        gymnasium.Env.reset(self, seed=seed)
        task = task_of(options, "0")
        if not (task.isascii() and task.isdecimal()):
            raise ConfigError(f"The tasks of {self.env_id} are seeds such as '7', not {task!r}.")
        if self._inner is None:
            self._inner = self._make()
        self._turn = 0
        self._observation, info = self._inner.reset(seed=int(task))
        return self._observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn of the inner environment."""
        assert self._inner is not None, "step before reset"
        self._turn += 1
        self._observation, reward, terminated, truncated, info = self._inner.step(action)
        truncated = truncated or (not terminated and self._turn >= self.max_turns)
        return self._observation, float(reward), terminated, truncated, info

    def state_key(self) -> Hashable:
        """Return the adapter's state key, or the observation."""
        if isinstance(self._inner, TextAdapter):
            return self._inner.state_key()
        return self._observation

    def expert_action(self) -> str | None:
        """Return the adapter's expert action, if any."""
        return self._inner.expert_action() if isinstance(self._inner, TextAdapter) else None

    def close(self) -> None:
        """Close the inner environment."""
        if self._inner is not None:
            self._inner.close()
            self._inner = None

    def _make(self) -> gymnasium.Env[str, str]:
        try:
            inner = gymnasium.make(self.env_id, disable_env_checker=True, **self.env_kwargs)
        except gymnasium.error.Error as error:
            raise ConfigError(
                f"gymnasium cannot make {self.env_id!r}: {error} An environment of another "
                "package is written `package.module:Name-v0`."
            ) from error
        wrapper = _imported(self.wrapper) if isinstance(self.wrapper, str) else self.wrapper
        if wrapper is not None:
            inner = wrapper(inner)
        text = gymnasium.spaces.Text
        if not isinstance(inner.observation_space, text) or not isinstance(
            inner.action_space, text
        ):
            raise ConfigError(
                f"{self.env_id} does not have text in and out (its spaces are "
                f"{inner.observation_space} and {inner.action_space}); give it a `wrapper` that "
                "does, for instance a subclass of sampo.envs.TextAdapter."
            )
        return inner


def _imported(path: str) -> Callable[[gymnasium.Env[Any, Any]], gymnasium.Env[str, str]]:
    module, _, name = path.replace(":", ".").rpartition(".")
    try:
        return vars(import_module(module))[name]
    except (ImportError, KeyError, ValueError) as error:
        raise ConfigError(
            f"No wrapper {path!r}: {error}. It is written `package.module.Name`."
        ) from error
