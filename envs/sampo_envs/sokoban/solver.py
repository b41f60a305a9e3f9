"""Shortest solutions by breadth-first search; the expert of the environment, also usable alone.

The search runs over (player, boxes) in single moves, so its solutions are shortest in moves, not in
pushes. It never pushes a box onto a dead square, one from which no target can be reached even on an
otherwise empty board. That is exact: no solution is lost.

Example:
    >>> from sampo_envs.sokoban import parse_level, solve
    >>> solve(*parse_level(["######", "#@ $.#", "######"])).actions
    ('right', 'right')
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sampo_envs.sokoban.board import ACTIONS, Board, State, cells, is_solved, offsets

NODE_LIMIT = 1_000_000
"""States after which the search gives up (about 200 bytes each)."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """What a search found."""

    actions: tuple[str, ...] | None
    """A shortest solution; empty where the state is solved; None where none was found."""
    complete: bool
    """The question is settled: without `actions`, the state cannot be solved. False where the node
    limit ended the search."""
    nodes: int
    """States that were visited."""


def solve(board: Board, state: State, node_limit: int = NODE_LIMIT) -> Search:
    """Search a shortest solution from `state`.

    Args:
        board: The board.
        state: Where to start; any state, also one in the middle of an episode.
        node_limit: Most states to visit.
    """
    if is_solved(board, state):
        return Search(actions=(), complete=True, nodes=1)
    dead = dead_squares(board)
    if state.boxes & dead:
        return Search(actions=None, complete=True, nodes=1)
    area = board.height * board.width
    steps = tuple(enumerate(offsets(board.width)))
    walls, targets = board.walls, board.targets
    start = state.boxes * area + state.player
    # The state's number -> its predecessor's number, times the number of moves, plus the move.
    came_from = {start: -1}
    frontier = [(state.player, state.boxes)]
    while frontier:
        following = []
        for player, boxes in frontier:
            no_push = walls | boxes | dead
            here = (boxes * area + player) * len(ACTIONS)
            for index, step in steps:
                ahead = player + step
                if walls >> ahead & 1:
                    continue
                moved = boxes
                if boxes >> ahead & 1:
                    beyond = ahead + step
                    if no_push >> beyond & 1:
                        continue
                    moved ^= 1 << ahead | 1 << beyond
                key = moved * area + ahead
                if key in came_from:
                    continue
                came_from[key] = here + index
                if moved != boxes and not moved & ~targets:
                    path = _path(came_from, key)
                    return Search(actions=path, complete=True, nodes=len(came_from))
                following.append((ahead, moved))
        if len(came_from) >= node_limit:
            return Search(actions=None, complete=False, nodes=len(came_from))
        frontier = following
    return Search(actions=None, complete=True, nodes=len(came_from))


@lru_cache(maxsize=4096)
def dead_squares(board: Board) -> int:
    """Return the bit set of the floor cells from which a lone box reaches no target.

    Found by pulling a box backwards from every target: a pull by one cell needs that cell and the
    next one, where the puller ends up, to be free of walls.
    """
    alive = board.targets
    waiting = cells(board.targets)
    while waiting:
        box = waiting.pop()
        for step in offsets(board.width):
            to = box + step
            if board.walls >> to & 1 or board.walls >> (to + step) & 1:
                continue
            if not alive >> to & 1:
                alive |= 1 << to
                waiting.append(to)
    everywhere = (1 << board.height * board.width) - 1
    return everywhere & ~(alive | board.walls)


def _path(came_from: dict[int, int], key: int) -> tuple[str, ...]:
    """Return the actions that lead from the start of a search to the state numbered `key`."""
    actions = []
    while (link := came_from[key]) >= 0:
        key, index = divmod(link, len(ACTIONS))
        actions.append(ACTIONS[index])
    return tuple(reversed(actions))
