"""A toy world whose numbers can be worked out by hand.

For tests, examples and first runs: when training does not reach the known optimum here, the fault
is in the training.
"""

from __future__ import annotations

from typing import Any

import gymnasium

from sampo.envs.base import TextEnv, task_of
from sampo.envs.prompt import PromptFormat
from sampo.envs.tags import TagPrompt
from sampo.errors import ConfigError, did_you_mean

_MOVES = {"left": -1, "right": 1}


class Corridor(TextEnv):
    """Walk to the door at one end of a corridor.

    Description:
        A row of `length` cells, numbered from 0. The door is at one of the two ends, the walker
        starts anywhere else. A task is written `start>door`, e.g. `1>4`; of the 2 (length - 1)
        tasks every fourth, from the third on, is `val`, every fourth, from the fourth on, `test`.

    Actions:
        `left`, `right`. A move against the wall, like any other text, leaves the walker in place.

    Observations:
        `at 1 door 4`.

    Reward:
        -0.1 for every turn, and 1.0 more on reaching the door. With d cells to go and d <=
        `max_turns`, the optimal return is 1 - 0.1 d, in d turns; of failing, -0.1 `max_turns`.
        With `length=3`, `max_turns=2` and one cell to go, a random walker returns 0.9 with
        probability 1/2 and -0.2 else, 0.35 on average.

    Episode end:
        Terminated at the door (success), truncated after `max_turns` turns.

    State key:
        `(position, door)`.

    Version history:
        1: first version.

    Args:
        length: Number of cells, at least 3.
        max_turns: Most turns of an episode.
        prompt_format: How it is talked to; None is a short `TagPrompt`.

    Raises:
        ConfigError: The corridor has less than 3 cells, or no turn.
    """

    def __init__(
        self, *, length: int = 5, max_turns: int = 8, prompt_format: PromptFormat | None = None
    ) -> None:
        if length < 3 or max_turns < 1:
            raise ConfigError(
                f"A corridor of length={length} and max_turns={max_turns} is too small; it takes "
                "at least 3 cells and 1 turn."
            )
        self.length = length
        self.max_turns = max_turns
        self.prompt_format = prompt_format or TagPrompt(task="Walk to the door.")
        self._position = 0
        self._door = 0
        self._turn = 0

    def tasks(self, split: str) -> list[str]:
        """Return the tasks `start>door` of a split."""
        last = self.length - 1
        every = [f"{start}>{last}" for start in range(last)]
        every += [f"{start}>0" for start in range(1, self.length)]
        part = {"train": (0, 1), "val": (2,), "test": (3,)}.get(split)
        if part is None:
            raise ConfigError(f"No split {split!r}; there are train, val, test.")
        return [task for index, task in enumerate(every) if index % 4 in part]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Put the walker where the task says. Nothing is random, so the seed changes nothing."""
        gymnasium.Env.reset(self, seed=seed)
        task = task_of(options, self.tasks("train")[0])
        known = [name for split in ("train", "val", "test") for name in self.tasks(split)]
        if task not in known:
            raise ConfigError(f"No task {task!r} in this corridor.{did_you_mean(task, known)}")
        start, door = task.split(">")
        self._position, self._door, self._turn = int(start), int(door), 0
        return self._show(), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Move by one cell, or stay."""
        self._turn += 1
        moved = self._position + _MOVES.get(action.strip().lower(), 0)
        self._position = min(max(moved, 0), self.length - 1)
        terminated = self._position == self._door
        truncated = not terminated and self._turn >= self.max_turns
        reward = 0.9 if terminated else -0.1
        return self._show(), reward, terminated, truncated, self._info()

    def state_key(self) -> tuple[int, int]:
        """Return `(position, door)`."""
        return (self._position, self._door)

    def expert_action(self) -> str:
        """Return the move towards the door."""
        return "right" if self._door > self._position else "left"

    def render(self) -> str:
        """Draw the corridor: `.` floor, `D` door, `@` walker."""
        cells = ["."] * self.length
        cells[self._door] = "D"
        cells[self._position] = "@"
        return "".join(cells)

    def _show(self) -> str:
        return f"at {self._position} door {self._door}"

    def _info(self) -> dict[str, Any]:
        return {
            "admissible_actions": list(_MOVES),
            "success": self._position == self._door,
            "task_type": "right" if self._door else "left",
            "metrics": {"cells_to_go": float(abs(self._door - self._position))},
        }
