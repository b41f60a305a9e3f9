"""What a state looks like as text.

One small function per rendering, all of the form `(board, state) -> str`; `TEXT_RENDERINGS` lists
them by the names that the environment's `rendering` takes, and `LEGENDS` explains them. Every
rendering shows the whole state: two states of a level look the same only if they are the same.
"""

from __future__ import annotations

from collections.abc import Callable

from sampo.errors import ConfigError, did_you_mean
from sampo_envs.sokoban.board import ACTIONS, Board, State, cells, offsets, ring

_CELL_NAMES = (
    "Cells are named by row and column: a1 is the upper left one, b1 is below it and a2 to its "
    "right. All around them is wall."
)

LEGENDS = {
    "grid": "The room is drawn cell by cell: # is a wall, _ is floor, O is a target, X is a box, "
    "* is a box on a target, P is the player, S is the player on a target.",
    "coordinates": f"The room is told by its cells. {_CELL_NAMES}",
    "relative": f"The room is told by its cells. {_CELL_NAMES} Boxes are told by the way from the "
    "player, targets by the way from the first box; then come the sides on which the player and "
    "each box have a wall.",
}
"""What a policy must know to read each rendering."""


def grid(board: Board, state: State) -> str:
    """Draw every cell as one symbol, rows on lines and columns separated by spaces.

    The symbols are explained in `LEGENDS`.

    Example:
        >>> from sampo_envs.sokoban import parse_level
        >>> print(grid(*parse_level(["#####", "#@$.#", "#####"])))
        # # # # #
        # P X O #
        # # # # #
    """
    rows = []
    for row in range(board.height):
        start = row * board.width
        rows.append(
            " ".join(_symbol(board, state, start + column) for column in range(board.width))
        )
    return "\n".join(rows)


def coordinates(board: Board, state: State) -> str:
    """Name the cells of the player, the boxes, the targets, and the walls inside the ring.

    Short, so that small policies on small machines read few tokens.

    Example:
        >>> from sampo_envs.sokoban import parse_level
        >>> coordinates(*parse_level(["######", "#@ $.#", "##   #", "######"]))
        'player a1 box a3 target a4 walls b1'
    """
    parts = (
        ("player", 1 << state.player),
        ("box", state.boxes),
        ("target", board.targets),
        ("walls", _inner_walls(board)),
    )
    return " ".join(" ".join([word, *_names(board, bits)]) for word, bits in parts)


def relative(board: Board, state: State) -> str:
    """Tell the ways player to box and box to target, and which sides are walled.

    Longer than `coordinates`, and easier for a policy of a few layers, which need not learn what
    cell names have to do with each other.

    Example:
        >>> from sampo_envs.sokoban import parse_level
        >>> relative(*parse_level(["######", "#@ $.#", "##   #", "######"]))
        'player a1 box same 0 right 2 target same 0 right 1 player walls up down left \
box walls up walls b1'
    """
    boxes = cells(state.boxes)
    parts = ["player", *_names(board, 1 << state.player)]
    for box in boxes:
        parts += ["box", _way(board, state.player, box)]
    for target in cells(board.targets):
        parts += ["target", _way(board, boxes[0], target)]
    parts += ["player walls", *_walled_sides(board, state.player)]
    for box in boxes:
        parts += ["box walls", *_walled_sides(board, box)]
    return " ".join([*parts, "walls", *_names(board, _inner_walls(board))])


TEXT_RENDERINGS: dict[str, Callable[[Board, State], str]] = {
    "grid": grid,
    "coordinates": coordinates,
    "relative": relative,
}


def text_rendering(name: str) -> Callable[[Board, State], str]:
    """Return the text rendering of a name.

    Raises:
        ConfigError: There is none of that name.
    """
    if name not in TEXT_RENDERINGS:
        raise ConfigError(
            f"Sokoban: no rendering {name!r}; there are {', '.join(TEXT_RENDERINGS)}."
            f"{did_you_mean(name, TEXT_RENDERINGS)}"
        )
    return TEXT_RENDERINGS[name]


def _symbol(board: Board, state: State, cell: int) -> str:
    """Return the symbol of a cell in `grid`."""
    on_target = board.targets >> cell & 1
    if board.walls >> cell & 1:
        return "#"
    if cell == state.player:
        return "S" if on_target else "P"
    if state.boxes >> cell & 1:
        return "*" if on_target else "X"
    return "O" if on_target else "_"


def _names(board: Board, bits: int) -> list[str]:
    """Return the names of some cells inside the ring in reading order."""
    named = []
    for cell in cells(bits):
        row, column = divmod(cell, board.width)
        named.append(f"{chr(ord('a') + row - 1)}{column}")
    return named


def _inner_walls(board: Board) -> int:
    """Return the bit set of the walls inside the ring."""
    return board.walls & ~ring(board.height, board.width)


def _way(board: Board, start: int, end: int) -> str:
    """Return how many rows and columns lead from one cell to another, e.g. `up 2 same 0`."""
    rows = end // board.width - start // board.width
    columns = end % board.width - start % board.width
    vertical = "up" if rows < 0 else "down" if rows > 0 else "same"
    horizontal = "left" if columns < 0 else "right" if columns > 0 else "same"
    return f"{vertical} {abs(rows)} {horizontal} {abs(columns)}"


def _walled_sides(board: Board, cell: int) -> list[str]:
    """Return the directions in which a cell adjoins a wall."""
    steps = zip(ACTIONS, offsets(board.width), strict=True)
    return [action for action, step in steps if board.walls >> (cell + step) & 1]
