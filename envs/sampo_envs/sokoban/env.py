"""Sokoban as a text environment: rewards, turns, tasks and the expert around the pure rules."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from sampo.envs import PromptFormat, TextEnv, task_of
from sampo.errors import ConfigError, EnvFailure, did_you_mean
from sampo_envs.sokoban.board import ACTIONS, Board, State, boxes_on_target, is_solved, move
from sampo_envs.sokoban.expert import Expert
from sampo_envs.sokoban.generate import LevelSettings
from sampo_envs.sokoban.picture import image
from sampo_envs.sokoban.prompt import CompactPrompt, SokobanPrompt
from sampo_envs.sokoban.render import grid, text_rendering
from sampo_envs.sokoban.tasks import FileLevels, GeneratedLevels, LevelSource, TaskNames

STEP_REWARD = -0.1
BOX_REWARD = 1.0
"""For a box that comes onto a target; taken back when it leaves."""
SOLVED_REWARD = 10.0

EXPERT_NODE_LIMIT = 300_000
"""Most states that the expert visits to find a solution: at most about two seconds."""


class SokobanEnv(TextEnv):
    """Push every box onto a target.

    Description:
        The classic puzzle on generated levels (the defaults are the paper's: 6x6, one box, search
        depth 30) or on levels from public Boxoban files. Every generated level can be solved, is
        not solved yet, and starts with no box on a target.

    Actions:
        `up`, `down`, `left`, `right`; capitals and outer white space are ignored. All four are
        always admissible: a move into a wall, or against a box that cannot be pushed, is legal and
        does nothing, as in the paper. Any other text is an invalid action: it also does nothing,
        and is a turn like any other.

    Observations:
        The whole state, written by `rendering`: `grid` draws it; `coordinates` names its cells and
        `relative` adds directions and adjoining walls (short, for nano policies).

    Reward:
        -0.1 for every turn, invalid ones included; +1 when a box comes onto a target, -1 when a
        box leaves one; +10 when the last box comes onto its target. Pushing a box from a target
        straight onto the next one gives neither +1 nor -1. Solving the one-box level in n turns
        returns 11 - 0.1 n.

    Episode end:
        Terminated when every box is on a target (`success`), also on the last turn; else truncated
        after `max_turns` turns. A level that cannot be solved any more goes on until then.

    State key:
        `(height, width, walls, targets, boxes, player)`, cells as bit sets. Equal for two states
        exactly when their boards and what stands on them are equal. The turn is left out: how many
        turns are left is the budget's state, not the world's.

    Differences from gym-sokoban, as the paper's code uses it:
        An invalid action counts as a turn here (there, only the rollout counts it). A box that
        starts on a target is counted from the start (there, the first step pays +1 for it). Levels
        depend on the seed alone (there, on PYTHONHASHSEED too when a room is tried again). Splits
        are disjoint by board, not by seed only.

    Version history:
        1: first version.

    Args:
        size: Side of the generated board, the walls around it included.
        boxes: Boxes of a generated level.
        search_depth: Longest backward play of the generator, in moves.
        levels: Boxoban file, or folder of such files, to play instead of generated levels. They
            bring their own sizes, so `size`, `boxes` and `search_depth` must keep their defaults.
        max_turns: Most turns of an episode.
        rendering: `grid`, `coordinates` or `relative`.
        prompt_format: How it is talked to. None is `SokobanPrompt` for the grid and
            `CompactPrompt` for the others.
        render_mode: `ansi` (or None) makes `render` return the grid, `rgb_array` a picture.

    Raises:
        ConfigError: A setting that cannot work.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}

    def __init__(
        self,
        *,
        size: int = 6,
        boxes: int = 1,
        search_depth: int = 30,
        levels: str | None = None,
        max_turns: int = 15,
        rendering: str = "grid",
        prompt_format: PromptFormat | None = None,
        render_mode: str | None = None,
    ) -> None:
        if max_turns < 1:
            raise ConfigError(f"Sokoban: max_turns is {max_turns}; it must be at least 1.")
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise ConfigError(
                f"Sokoban: no render_mode {render_mode!r}; there are {', '.join(modes)}."
                f"{did_you_mean(render_mode, modes)}"
            )
        settings = LevelSettings(size=size, boxes=boxes, search_depth=search_depth)
        if levels is not None and settings != LevelSettings():
            raise ConfigError(
                f"Sokoban: size={size}, boxes={boxes} and search_depth={search_depth} describe "
                f"generated levels, but levels={levels!r} are read from files. Leave out either."
            )
        self.max_turns = max_turns
        self.render_mode = render_mode
        self._observe = text_rendering(rendering)
        self.prompt_format = prompt_format or (
            SokobanPrompt() if rendering == "grid" else CompactPrompt()
        )
        self._source: LevelSource = (
            GeneratedLevels(settings) if levels is None else FileLevels(levels)
        )
        self._board: Board | None = None
        self._state = State(player=0, boxes=0)
        self._turn = 0
        self._expert: Expert | None = None

    def tasks(self, split: str) -> TaskNames:
        """Return the tasks `split/number` of `train`, `val` or `test`; no board is in two splits.

        The numbers are seeds (2**16 for training, 2**12 each for validation and test), or, with
        `levels`, positions in the files.
        """
        return self._source.tasks(split)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start the level of `options["task"]`; nothing else is random, so `seed` changes nothing.

        Raises:
            ConfigError: There is no such task.
            MissingDataError: The level files are not there.
        """
        gymnasium.Env.reset(self, seed=seed)
        task = task_of(options, self._source.first())
        self._board, self._state = self._source.level(task)
        self._turn = 0
        self._expert = Expert(self._board, EXPERT_NODE_LIMIT)
        return self._observe(self._board, self._state), self._info(self._board)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Move the player, or waste a turn.

        Raises:
            EnvFailure: There is no episode, or it has ended.
        """
        board = self._playing()
        if self._turn >= self.max_turns or is_solved(board, self._state):
            raise EnvFailure("Sokoban: the episode has ended. Call reset before the next step.")
        self._turn += 1
        before = boxes_on_target(board, self._state)
        name = action.strip().lower()
        if name in ACTIONS:
            self._state = move(board, self._state, name)
        gained = boxes_on_target(board, self._state) - before
        terminated = is_solved(board, self._state)
        reward = STEP_REWARD + BOX_REWARD * gained
        if terminated:
            reward += SOLVED_REWARD
        truncated = not terminated and self._turn >= self.max_turns
        observation = self._observe(board, self._state)
        return observation, reward, terminated, truncated, self._info(board)

    def state_key(self) -> tuple[int, int, int, int, int, int]:
        """Return `(height, width, walls, targets, boxes, player)`."""
        board, state = self._playing(), self._state
        return (board.height, board.width, board.walls, board.targets, state.boxes, state.player)

    def expert_action(self) -> str | None:
        """Return the first move of a shortest solution.

        Returns:
            None where the level is solved, cannot be solved any more, or is too hard to solve
            within `EXPERT_NODE_LIMIT` states. The turns that are left play no part.
        """
        self._playing()
        assert self._expert is not None
        return self._expert.action(self._state)

    def render(self) -> str | NDArray[np.uint8]:
        """Return the grid, or with `render_mode="rgb_array"` a picture `[height, width, 3]`."""
        board = self._playing()
        if self.render_mode == "rgb_array":
            return image(board, self._state)
        return grid(board, self._state)

    def _playing(self) -> Board:
        """Return the board of the episode, which must have been started."""
        if self._board is None:
            raise EnvFailure("Sokoban: there is no episode yet. Call reset first.")
        return self._board

    def _info(self, board: Board) -> dict[str, Any]:
        on_target = boxes_on_target(board, self._state)
        return {
            "admissible_actions": list(ACTIONS),
            "success": is_solved(board, self._state),
            "metrics": {"boxes_on_target": on_target / self._state.boxes.bit_count()},
        }
