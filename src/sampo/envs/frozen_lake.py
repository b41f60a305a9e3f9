"""FrozenLake in words: how an environment that gymnasium ships becomes textual.

Two ways to use it: `GymnasiumTextEnv("FrozenLake-v1", wrapper=FrozenLakeText)`, and as the pattern
for an adapter of one's own.
"""

from __future__ import annotations

from collections import deque
from typing import Any, cast

import gymnasium
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

from sampo.envs.gymnasium_text import TextAdapter

_ACTIONS = ("left", "down", "right", "up")
"""In the order of FrozenLake's action numbers."""


class FrozenLakeText(TextAdapter):
    """Words for gymnasium's FrozenLake.

    Description:
        Cross the ice from S to G without falling into a hole H; on slippery ice a step may go
        astray.

    Actions:
        `left`, `down`, `right`, `up`. Any other text is a turn in which nothing moves.

    Observations:
        The map, one row a line, with `*` where the walker stands.

    Reward:
        FrozenLake's: 1 on reaching G, else 0.

    Episode end:
        FrozenLake's: terminated on G (success) or in a hole; truncated by its time limit.

    State key:
        (map rows, number of the cell).

    Version history:
        1: first version.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self._numeric: gymnasium.Env[Any, Any] = env
        self._lake = cast(FrozenLakeEnv, env.unwrapped)
        self._cell = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Put the walker on S."""
        cell, _ = self._numeric.reset(seed=seed, options=options)
        self._cell = int(cell)
        return self._show(), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Move as told, or not at all."""
        word = action.strip().lower()
        if word not in _ACTIONS:
            return self._show(), 0.0, False, False, self._info()
        cell, reward, terminated, truncated, _ = self._numeric.step(_ACTIONS.index(word))
        self._cell = int(cell)
        return self._show(), float(reward), bool(terminated), truncated, self._info()

    def state_key(self) -> tuple[tuple[str, ...], int]:
        """Return (map rows, number of the cell)."""
        return self._rows(), self._cell

    def expert_action(self) -> str | None:
        """Return the first step of a shortest way; None on slippery ice, where it proves little."""
        moves = self._lake.P
        if any(len(outcomes) > 1 for outcomes in moves[self._cell].values()):
            return None
        letters = "".join(self._rows())
        first: dict[int, int | None] = {self._cell: None}
        queue = deque([self._cell])
        while queue:
            cell = queue.popleft()
            if letters[cell] == "G":
                step = first[cell]
                return None if step is None else _ACTIONS[step]
            for action, outcomes in moves[cell].items():
                following = int(outcomes[0][1])
                if following not in first:
                    first[following] = action if first[cell] is None else first[cell]
                    queue.append(following)
        return None

    def _rows(self) -> tuple[str, ...]:
        return tuple(b"".join(row).decode() for row in self._lake.desc)

    def _show(self) -> str:
        row, column = divmod(self._cell, self._lake.ncol)
        rows = list(self._rows())
        rows[row] = rows[row][:column] + "*" + rows[row][column + 1 :]
        return "\n".join(rows)

    def _info(self) -> dict[str, Any]:
        letter = "".join(self._rows())[self._cell]
        return {"admissible_actions": list(_ACTIONS), "success": letter == "G"}
