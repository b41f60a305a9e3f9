"""The expert of one level: solves when asked, and remembers its plan.

It always knows a shortest way; noise is the collector's business.
"""

from __future__ import annotations

from sampo_envs.sokoban.board import Board, State, move
from sampo_envs.sokoban.solver import NODE_LIMIT, solve


class Expert:
    """Gives a best action for the states of one episode, asked in their order.

    A solution is remembered action by action, so following the advice costs one search, and
    leaving the plan one more. A level that is lost once stays lost, since no action leads back to
    a state that can be solved, and is not searched again.

    Args:
        board: The board of the level.
        node_limit: Most states to visit in one search.
    """

    def __init__(self, board: Board, node_limit: int = NODE_LIMIT) -> None:
        self._board = board
        self._node_limit = node_limit
        self._advice: dict[State, str | None] = {}
        self._lost = False

    def action(self, state: State) -> str | None:
        """Return the first action of a shortest solution.

        Returns:
            None where the state is solved, cannot be solved, or takes too many nodes.
        """
        if not self._lost and state not in self._advice:
            self._plan(state)
        return self._advice.get(state)

    def _plan(self, state: State) -> None:
        """Solve `state` and note the action of every state on the way."""
        search = solve(self._board, state, self._node_limit)
        self._lost = search.actions is None and search.complete
        for action in search.actions or ():
            self._advice[state] = action
            state = move(self._board, state, action)
        self._advice[state] = None
