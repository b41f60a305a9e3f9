"""The solver against hand-worked boards and against a search that prunes nothing."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sampo_envs.sokoban import (
    ACTIONS,
    Board,
    LevelSettings,
    State,
    generate_level,
    is_solved,
    move,
    parse_level,
    solve,
)
from sampo_envs.sokoban.board import cells
from sampo_envs.sokoban.solver import dead_squares


def brute_force(board: Board, start: State) -> int | None:
    """Return the length of a shortest solution, by breadth-first search with `move` alone."""
    seen, frontier, moves = {start}, [start], 0
    while frontier:
        if any(is_solved(board, state) for state in frontier):
            return moves
        reached = {move(board, state, action) for state in frontier for action in ACTIONS}
        frontier = list(reached - seen)
        seen |= reached
        moves += 1
    return None


def test_a_corridor():
    # The first step ends beside the box, the second pushes it onto the target.
    assert solve(*parse_level(["######", "#@ $.#", "######"])).actions == ("right", "right")


def test_a_box_must_be_walked_around():
    """The box must go left, so the player has to come to its right side.

    ::

        ######
        #.$@ #      It is there: one push.
        #    #
        ######

        ######
        #.$  #      From below the target it takes right, right and up; then left is the push.
        #@   #
        ######
    """
    assert solve(*parse_level(["######", "#.$@ #", "#    #", "######"])).actions == ("left",)
    search = solve(*parse_level(["######", "#.$  #", "#@   #", "######"]))
    assert search.actions == ("right", "right", "up", "left")
    assert search.complete


def test_a_solved_state_needs_nothing():
    board, _ = parse_level(["#####", "#@$.#", "#####"])
    search = solve(board, State(6, board.targets))
    assert search.actions == () and search.complete


def test_a_box_in_a_corner_is_lost_at_once():
    search = solve(*parse_level(["#####", "#$ .#", "# @ #", "#####"]))
    assert (search.actions, search.complete, search.nodes) == (None, True, 1)


def test_a_lost_level_without_dead_squares_is_searched_to_the_end():
    # Two boxes side by side along the upper wall block each other; neither square is dead.
    search = solve(*parse_level(["######", "#.$$.#", "#  @ #", "######"]))
    assert search.actions is None and search.complete


def test_the_node_limit_is_no_verdict():
    level = generate_level(LevelSettings(size=8, boxes=2), 1)
    search = solve(*level, node_limit=5)
    assert search.actions is None and not search.complete
    assert solve(*level).actions


def test_dead_squares_by_hand():
    """Alive are the target 8; 9, from which a player at 10 pushes left; 14, from which a player at
    20 pushes up; and 15, from which a player at 16 pushes left to 14.

    ::

        ######       7  8  9 10     7 and 10 are corners; 13 and 16 lie along the side walls and
        #@.  #      13 14 15 16     never come off them; the lowest row is never pushed up, as the
        # $  #      19 20 21 22     player would have to stand in the wall below it.
        #    #
        ######
    """
    board, _ = parse_level(["######", "#@.  #", "# $  #", "#    #", "######"])
    assert cells(dead_squares(board)) == [7, 10, 13, 16, 19, 20, 21, 22]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9), boxes=st.integers(1, 2), walk=st.lists(st.sampled_from(ACTIONS)))
def test_solutions_are_shortest_and_none_is_lost(seed: int, boxes: int, walk: list[str]):
    board, state = generate_level(LevelSettings(size=5 if boxes == 2 else 6, boxes=boxes), seed)
    for action in walk:
        state = move(board, state, action)
    actions = solve(board, state).actions
    assert (None if actions is None else len(actions)) == brute_force(board, state)
    for action in actions or ():
        state = move(board, state, action)
    assert actions is None or is_solved(board, state)
