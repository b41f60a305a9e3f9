"""Sokoban: generated levels or Boxoban files, a solver, text and image renderings.

`SokobanEnv` is the environment. The rest stands on its own: `generate_level` makes levels,
`load_levels` and `parse_level` read them, `solve` finds shortest solutions, `image` draws pictures.
"""

from sampo_envs.sokoban.board import ACTIONS, Board, Level, State, is_solved, move
from sampo_envs.sokoban.boxoban import load_levels, parse_level
from sampo_envs.sokoban.env import SokobanEnv
from sampo_envs.sokoban.generate import LevelSettings, generate_level
from sampo_envs.sokoban.picture import image, write_png
from sampo_envs.sokoban.prompt import CompactPrompt, SokobanPrompt
from sampo_envs.sokoban.render import coordinates, grid, relative
from sampo_envs.sokoban.solver import Search, solve
from sampo_envs.sokoban.tasks import split_of

__all__ = [
    "ACTIONS",
    "Board",
    "CompactPrompt",
    "Level",
    "LevelSettings",
    "Search",
    "SokobanEnv",
    "SokobanPrompt",
    "State",
    "coordinates",
    "generate_level",
    "grid",
    "image",
    "is_solved",
    "load_levels",
    "move",
    "parse_level",
    "relative",
    "solve",
    "split_of",
    "write_png",
]
