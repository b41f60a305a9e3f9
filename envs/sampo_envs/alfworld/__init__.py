"""ALFWorld: household chores in a text world, with the real engine and the real games.

`AlfworldEnv` is the environment. `open_games` and `read_game` are for those who want the game files
themselves; the engine, in `sampo_envs.alfworld.engine`, is imported when a game is first played.
"""

from sampo_envs.alfworld.data import open_games
from sampo_envs.alfworld.env import AlfworldEnv
from sampo_envs.alfworld.games import Game, Games, read_game
from sampo_envs.alfworld.prompt import AlfworldPrompt, CompactPrompt

__all__ = [
    "AlfworldEnv",
    "AlfworldPrompt",
    "CompactPrompt",
    "Game",
    "Games",
    "open_games",
    "read_game",
]
