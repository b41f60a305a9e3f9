"""The rules of Sokoban: an immutable board, a state on it, and one pure function that moves.

Cells are numbered row by row, and sets of cells are integers with one bit per cell, so that a state
hashes, compares and pickles cheaply. The outermost ring of a board is always wall, which is why no
move ever needs a bounds check. Nothing here knows of rewards, text or episodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sampo.errors import ConfigError

ACTIONS = ("up", "down", "left", "right")
"""The four moves, in the order of every table that is indexed by a move."""

MIN_SIDE = 3
"""Shortest side of a board: a corridor inside the ring of walls."""

MAX_SIDE = 28
"""Longest side of a board: the rows inside the ring are named by the letters a to z."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Board:
    """What never changes in an episode.

    Example:
        The room below has `height=3`, `width=5` and `targets=1 << 8`; all cells but 6, 7 and 8 are
        walls::

            #####
            #  .#
            #####
    """

    height: int
    """Rows, the two rows of the ring included."""
    width: int
    """Columns, the two columns of the ring included."""
    walls: int
    """Bit set of the wall cells."""
    targets: int
    """Bit set of the target cells."""


class State(NamedTuple):
    """What an action may change."""

    player: int
    """Cell of the player."""
    boxes: int
    """Bit set of the cells with a box."""


class Level(NamedTuple):
    """A board and the state that an episode starts from."""

    board: Board
    start: State


def offsets(width: int) -> tuple[int, int, int, int]:
    """Return what each of `ACTIONS` adds to a cell number on a board of this width."""
    return (-width, width, -1, 1)


def move(board: Board, state: State, action: str) -> State:
    """Return the state after one of `ACTIONS`.

    A box is pushed if the cell behind it is free. A move into a wall, or against a box that cannot
    be pushed, is legal and returns the same state.
    """
    step = offsets(board.width)[ACTIONS.index(action)]
    ahead = state.player + step
    if board.walls >> ahead & 1:
        return state
    if not state.boxes >> ahead & 1:
        return State(ahead, state.boxes)
    beyond = ahead + step
    if (board.walls | state.boxes) >> beyond & 1:
        return state
    return State(ahead, state.boxes ^ (1 << ahead | 1 << beyond))


def boxes_on_target(board: Board, state: State) -> int:
    """Return how many boxes stand on a target."""
    return (board.targets & state.boxes).bit_count()


def is_solved(board: Board, state: State) -> bool:
    """Return whether every box stands on a target."""
    return state.boxes & ~board.targets == 0


def cells(bits: int) -> list[int]:
    """Return the cells of a bit set in ascending order.

    Example:
        >>> cells(0b1010)
        [1, 3]
    """
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


def ring(height: int, width: int) -> int:
    """Return the bit set of the outermost cells of a board."""
    bits = 0
    for row in range(height):
        for column in range(width):
            if row in (0, height - 1) or column in (0, width - 1):
                bits |= 1 << (row * width + column)
    return bits


def check_side(side: int, name: str) -> None:
    """Raise ConfigError unless a board may have a side of this length."""
    if not MIN_SIDE <= side <= MAX_SIDE:
        raise ConfigError(
            f"Sokoban: {name} is {side}, but boards have sides of {MIN_SIDE} to {MAX_SIDE} cells, "
            "the walls around them included. Choose a value in that range."
        )
