"""The environment contract: a gymnasium environment with text in and text out.

An environment knows its rules, its tasks and how it wants to be talked to (`prompt_format`). It
knows nothing of tokens, policies or batches, and is imported without torch. Instances are
*prototypes*: the rollout pickles one into its workers and resets copies of it, so `__init__` only
stores settings and everything costly or unpicklable is made in `reset`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

import gymnasium

from sampo.envs.prompt import PromptFormat
from sampo.envs.spaces import AnyText


class TextEnv(gymnasium.Env[str, str]):
    """A task world with text observations and text actions.

    Laws (checked by `sampo.envs.check_env`):

    * the same task, seed and actions give the same episode, in any process;
    * any string is a legal argument of `step`: an action that the world does not understand is a
      turn like any other (`info["admissible_actions"]` says what it would understand);
    * an episode ends within `max_turns` calls of `step`: `terminated` by the task, `truncated` by
      the limit;
    * `state_key()` is equal for two states exactly when the world behaves alike from there on;
    * `reset` accepts every task of `tasks(split)`, and the splits are disjoint.

    `info` of `reset` and `step` may hold:

    * `admissible_actions`: list of the action texts that are understood now; absent or None where
      they cannot be listed;
    * `success` (bool): whether the task is solved; read at the end of the episode, False if absent;
    * `task_type` (str): category for reports;
    * `metrics` (dict of floats): further numbers, read at the end of the episode.
    """

    observation_space: gymnasium.Space[str] = AnyText()
    action_space: gymnasium.Space[str] = AnyText()
    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"]}
    render_mode: str | None = None

    prompt_format: PromptFormat
    """How observations become prompts and replies become actions; replaceable in the config."""
    max_turns: int
    """Most calls of `step` in one episode."""

    @abstractmethod
    def tasks(self, split: str) -> Sequence[str]:
        """Return the task ids of `train`, `val` or `test`, in a fixed order.

        A lazy sequence serves where there are very many.
        """

    @abstractmethod
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start the task `options["task"]` and return its first observation.

        Without a task the first one of `tasks("train")` is played; subclasses call
        `super().reset(seed=seed)` first, so that `self.np_random` is seeded.
        """
        super().reset(seed=seed)
        return "", {}

    @abstractmethod
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn and return (observation, reward, terminated, truncated, info)."""

    @abstractmethod
    def state_key(self) -> Hashable:
        """Return a canonical, hashable and picklable key of the present state."""

    def expert_action(self) -> str | None:
        """Return a good action for the present state, or None where there is no expert."""
        return None


def task_of(options: Mapping[str, Any] | None, default: str) -> str:
    """Return the task that `reset`'s options name, or `default`."""
    return default if options is None else options.get("task", default)
