"""The rules on boards that fit on a hand."""

from __future__ import annotations

import pickle

import pytest

from sampo.errors import ConfigError
from sampo_envs.sokoban import ACTIONS, Level, State, is_solved, move, parse_level
from sampo_envs.sokoban.board import boxes_on_target, cells, check_side, offsets, ring


def level(*rows: str) -> Level:
    return parse_level(rows)


def test_a_free_cell_is_walked_on():
    # Cells of this 5 x 5 board: the player in the middle is cell 2 * 5 + 2 = 12.
    board, start = level("#####", "#$  #", "# @ #", "#  .#", "#####")
    assert start == State(player=12, boxes=1 << 6)
    assert [move(board, start, action).player for action in ACTIONS] == [7, 17, 11, 13]
    assert all(move(board, start, action).boxes == 1 << 6 for action in ACTIONS)


def test_a_wall_stops_the_player():
    board, start = level("#####", "#@$.#", "#####")
    for action in ("up", "down", "left"):
        assert move(board, start, action) == start


def test_a_box_is_pushed_into_a_free_cell():
    board, start = level("#####", "#@$.#", "#####")
    pushed = move(board, start, "right")
    assert pushed == State(player=7, boxes=1 << 8)
    assert is_solved(board, pushed) and not is_solved(board, start)


def test_a_box_against_a_wall_stays():
    board, start = level("#####", "#.@$#", "#####")
    assert move(board, start, "right") == start


def test_two_boxes_in_a_row_stay():
    board, start = level("########", "#@$$ ..#", "########")
    assert move(board, start, "right") == start


def test_a_box_cannot_be_pulled():
    # The player walks left, away from the box at its right, which stays where it is.
    board, start = level("######", "# @$.#", "######")
    assert move(board, start, "left") == State(player=7, boxes=start.boxes)


def test_a_box_is_pushed_off_a_target():
    board, start = level("######", "#@* $#", "#   .#", "######")
    assert boxes_on_target(board, start) == 1
    assert boxes_on_target(board, move(board, start, "right")) == 0


def test_solved_means_every_box():
    board, start = level("#######", "#@$.* #", "#######")
    assert not is_solved(board, start)
    assert is_solved(board, State(start.player, board.targets))


def test_unknown_actions_are_the_callers_mistake():
    with pytest.raises(ValueError, match="not in tuple"):
        move(*level("#####", "#@$.#", "#####"), "jump")


def test_offsets_follow_the_order_of_the_actions():
    assert dict(zip(ACTIONS, offsets(7), strict=True)) == {
        "up": -7,
        "down": 7,
        "left": -1,
        "right": 1,
    }


def test_ring_and_cells():
    # 3 x 4: everything but cells 5 and 6.
    assert cells(ring(3, 4)) == [0, 1, 2, 3, 4, 7, 8, 9, 10, 11]
    assert cells(0) == []


@pytest.mark.parametrize("side", [2, 29])
def test_sides_out_of_range_are_named(side: int):
    with pytest.raises(ConfigError, match=f"size is {side}.*3 to 28"):
        check_side(side, "size")


def test_levels_pickle_and_hash():
    made = level("#####", "#@$.#", "#####")
    copied = pickle.loads(pickle.dumps(made))
    assert copied == made and hash(copied) == hash(made)
