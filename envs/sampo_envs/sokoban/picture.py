"""Pictures of a state, for people and for vision models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sampo.errors import ConfigError, MissingDependencyError
from sampo_envs.sokoban.board import Board, State

WALL_COLOUR = (92, 74, 66)
FLOOR_COLOUR = (232, 222, 200)
TARGET_COLOUR = (214, 64, 69)
BOX_COLOUR = (217, 142, 51)
BOX_ON_TARGET_COLOUR = (76, 153, 84)
PLAYER_COLOUR = (52, 101, 164)

MIN_TILE = 8
"""Smallest side of a cell in pixels; shapes would touch below it."""


def image(board: Board, state: State, tile: int = 16) -> NDArray[np.uint8]:
    """Draw the state as an RGB picture.

    Walls are dark, boxes squares (green on a target, else orange), targets small red squares, and
    the player is a blue disc that leaves the corners of a target below it in sight.

    Args:
        board: The board.
        state: The state.
        tile: Side of a cell in pixels, at least 8.

    Returns:
        Array of shape `[height * tile, width * tile, 3]`.
    """
    if tile < MIN_TILE:
        raise ConfigError(
            f"Sokoban: a tile of {tile} pixels is too small; take {MIN_TILE} or more."
        )
    picture = np.empty((board.height * tile, board.width * tile, 3), dtype=np.uint8)
    for cell in range(board.height * board.width):
        top, left = (tile * part for part in divmod(cell, board.width))
        _paint(picture[top : top + tile, left : left + tile], board, state, cell)
    return picture


def write_png(picture: NDArray[np.uint8], path: str | Path) -> None:
    """Write a picture to a PNG file.

    Raises:
        MissingDependencyError: Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingDependencyError(
            "Writing a PNG needs Pillow, which is not installed. Run `pip install pillow`, or use "
            "the array of `image` without writing it."
        ) from error
    Image.fromarray(picture).save(path, format="PNG")


def _paint(patch: NDArray[np.uint8], board: Board, state: State, cell: int) -> None:
    """Fill the pixels of one cell."""
    if board.walls >> cell & 1:
        patch[:] = WALL_COLOUR
        return
    patch[:] = FLOOR_COLOUR
    tile = patch.shape[0]
    on_target = board.targets >> cell & 1
    if on_target:
        inset = tile // 4
        patch[inset : tile - inset, inset : tile - inset] = TARGET_COLOUR
    if state.boxes >> cell & 1:
        inset = tile // 8
        colour = BOX_ON_TARGET_COLOUR if on_target else BOX_COLOUR
        patch[inset : tile - inset, inset : tile - inset] = colour
    if cell == state.player:
        distance = np.arange(tile) - (tile - 1) / 2
        disc = distance[:, None] ** 2 + distance[None, :] ** 2 <= (tile * 0.3) ** 2
        patch[disc] = PLAYER_COLOUR
