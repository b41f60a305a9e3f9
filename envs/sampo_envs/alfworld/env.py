"""ALFWorld as a text environment: turns, rewards, tasks and experts around the real engine."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import gymnasium

from sampo.envs import PromptFormat, TextEnv, task_of
from sampo.errors import ConfigError, EnvFailure, did_you_mean
from sampo_envs.alfworld.data import GENERATED, open_games
from sampo_envs.alfworld.expert import advise
from sampo_envs.alfworld.games import TYPES, Game, read_game, task_type
from sampo_envs.alfworld.prompt import AlfworldPrompt
from sampo_envs.alfworld.verbs import understood

if TYPE_CHECKING:
    from sampo_envs.alfworld.engine import Board, Play
    from sampo_envs.alfworld.handcoded import HandCodedExpert

WIN_REWARD = 10.0
"""For winning; the paper's."""
SPLITS = {"train": "train", "val": "valid_seen", "test": "valid_unseen"}
"""ALFWorld's names of the splits."""
EXPERTS, STATE_KEYS = ("walkthrough", "handcoded"), ("state", "feedback")
_KEPT_BOARDS = 32
"""Games that a process keeps ready, about 2 MB each: those that its episodes are playing now."""


class AlfworldEnv(TextEnv):
    """Do a household chore in a text world.

    Description:
        The text games of ALFWorld, played by the real engine: TextWorld's grammar over Fast
        Downward's simulator, with texts equal to theirs. A game is a room with things in it, and
        one of six kinds of chores: put a thing somewhere (`Pick`), look at it under a lamp
        (`Look`), clean, heat or cool it and then put it somewhere (`Clean`, `Heat`, `Cool`), put
        two of a kind somewhere (`Pick2`).

    Actions:
        Commands such as `go to desk 1`, `open drawer 2`, `take mug 1 from desk 1`, `move mug 1 to
        shelf 2`, `clean mug 1 with sinkbasin 1`, `use desklamp 1`, `look`, `inventory`. Both
        grammars of ALFWorld are understood in any game: `put X in/on Y` (before 0.4) and `move X
        to Y`. Capitals and white space do not matter. Anything else is a turn in which nothing
        happens. `info["admissible_actions"]` lists all commands but `help`.

    Observations:
        The engine's answer, at first the introduction, which ends with the task.

    Reward:
        10 on winning, else 0, as in the paper.

    Episode end:
        Terminated by winning (`success`), else truncated after `max_turns` turns.

    State key:
        `(game, digest)` of all facts that decide what will be possible, won or told. With
        `state_key: feedback` the text of the last answer, the paper's anchor, which takes all
        states in which nothing happened for one.

    Version history:
        1: first version.

    Args:
        data: `generated` for the games that come with the package; `fetched` for what
            `$SAMPO_ALFWORLD_DATA` names, or where `python -m sampo_envs.alfworld.fetch` puts the
            real games; or the path of a folder or an archive.
        task_types: Kinds of chores that are played; None plays all six.
        num_train_games: How many games `train` has, the first ones in its order; None: all.
        expert: `walkthrough` knows where things are and always wins; `handcoded` is ALFWorld's
            own, which searches, and does not always win.
        state_key: `state`, or `feedback` for the paper's anchor.
        max_turns: Most turns of an episode.
        prompt_format: How it is talked to; None is `AlfworldPrompt`.

    Raises:
        ConfigError: A setting that cannot work.
    """

    def __init__(
        self,
        *,
        data: str = GENERATED,
        task_types: Sequence[str] | None = None,
        num_train_games: int | None = None,
        expert: Literal["walkthrough", "handcoded"] = "walkthrough",
        state_key: Literal["state", "feedback"] = "state",
        max_turns: int = 50,
        prompt_format: PromptFormat | None = None,
    ) -> None:
        for kind in task_types or ():
            _check_choice("type of task", kind, tuple(TYPES.values()))
        _check_choice("expert", expert, EXPERTS)
        _check_choice("state_key", state_key, STATE_KEYS)
        for setting, number in (("max_turns", max_turns), ("num_train_games", num_train_games)):
            if number is not None and number < 1:
                raise ConfigError(f"ALFWorld: {setting} is {number}; it must be at least 1.")
        self.max_turns = max_turns
        self.prompt_format = prompt_format or AlfworldPrompt()
        self._data, self._expert, self._state_key = data, expert, state_key
        self._types = tuple(TYPES.values() if task_types is None else task_types)
        self._num_train_games = num_train_games
        self._task = ""
        self._game: Game | None = None
        self._play: Play | None = None
        self._handcoded: HandCodedExpert | None = None
        self._said: list[str] = []
        self._turn = 0

    def tasks(self, split: str) -> Sequence[str]:
        """Return the games of `train`, `val` (valid_seen) or `test` (valid_unseen).

        The order is fixed and mixes all types and rooms, so that the first ones are a fair sample.
        ALFWorld's own names of the splits are understood as well. A split that the data lack is
        empty.

        Raises:
            MissingDataError: There are no data.
        """
        split = SPLITS.get(split, split)
        _check_choice("split of tasks", split, (*SPLITS, *SPLITS.values()))
        names = open_games(self._data).splits[split]
        if len(self._types) < len(TYPES):
            names = tuple(name for name in names if task_type(name) in self._types)
        return names[: self._num_train_games] if split == "train" else names

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start the game `options["task"]`; `seed` changes nothing but the hand-coded expert.

        Raises:
            ConfigError: There is no such game.
            EnvFailure: Its file is damaged, unsolvable or of another version.
            MissingDataError: There are no data.
            MissingDependencyError: The engine is not installed.
        """
        gymnasium.Env.reset(self, seed=seed)
        self._task = task_of(options, "") or self.tasks("train")[0]
        games = open_games(self._data)
        if self._task not in games.splits[_split_of(self._task)]:
            raise ConfigError(
                f"ALFWorld: there is no game {self._task!r} in data={self._data!r}."
                f"{did_you_mean(self._task, games.splits[_split_of(self._task)])}"
            )
        self._game, board = _board(self._data, self._task)
        from sampo_envs.alfworld.engine import Play

        self._play = Play(board)
        self._said, self._turn, self._handcoded = [], 0, None
        if self._expert == "handcoded":
            from sampo_envs.alfworld.handcoded import HandCodedExpert

            self._handcoded = HandCodedExpert(self._task, self._play, seed or 0)
        return self._play.feedback, self._info(self._play)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Give a command, or waste a turn.

        Raises:
            EnvFailure: There is no episode, or it has ended.
        """
        play = self._playing()
        if play.won or self._turn >= self.max_turns:
            raise EnvFailure("ALFWorld: the episode has ended. Call reset before the next step.")
        self._turn += 1
        command = understood(action, play.commands)
        play.step(command)
        self._said.append(command)
        if self._handcoded is not None:
            self._handcoded.see(command, play)
        truncated = not play.won and self._turn >= self.max_turns
        reward = WIN_REWARD if play.won else 0.0
        return play.feedback, reward, play.won, truncated, self._info(play)

    def state_key(self) -> Hashable:
        """Return `(game, digest of the state)`, or the text of the last answer."""
        play = self._playing()
        return play.feedback if self._state_key == "feedback" else (self._task, play.digest())

    def expert_action(self) -> str | None:
        """Return the next command of the expert that the settings name."""
        play = self._playing()
        if self._handcoded is not None:
            return self._handcoded.action
        assert self._game is not None
        return advise(self._game.walkthrough, self._said, play)

    def render(self) -> str:
        """Return the last answer and what is understood now."""
        play = self._playing()
        return "\n".join([play.feedback, *(f"> {command}" for command in play.commands)])

    def _info(self, play: Play) -> dict[str, Any]:
        return {
            "admissible_actions": [command for command in play.commands if command != "help"],
            "success": play.won,
            "task_type": task_type(self._task),
        }

    def _playing(self) -> Play:
        """Return the episode, which must have been started."""
        if self._play is None:
            raise EnvFailure("ALFWorld: there is no episode yet. Call reset first.")
        return self._play


@lru_cache(maxsize=_KEPT_BOARDS)
def _board(data: str, task: str) -> tuple[Game, Board]:
    """Return a game that is ready, the same one for all its episodes in this process.

    Raises:
        EnvFailure: The engine cannot play it.
    """
    from sampo_envs.alfworld.engine import Board, ground

    games = open_games(data)
    game = read_game(games, task)
    try:
        return game, Board(game.domain, game.grammar, ground(game.domain, game.problem))
    except (Exception, SystemExit) as error:
        # Broad on purpose: the engine's parsers raise whatever they meet, SystemExit included.
        raise EnvFailure(
            f"ALFWorld: the game {games.path(task)} cannot be played: it is damaged, unsolvable or "
            f"of another version ({type(error).__name__}: {error})."
        ) from error


def _split_of(task: str) -> str:
    split = task.partition("/")[0]
    return split if split in SPLITS.values() else "train"


def _check_choice(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ConfigError(
            f"ALFWorld: there is no {name} {value!r}; there are {', '.join(known)}."
            f"{did_you_mean(value, known)}"
        )
