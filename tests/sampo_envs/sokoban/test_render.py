"""Text renderings by hand, and the law that they show the whole state."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampo.errors import ConfigError
from sampo_envs.sokoban import (
    ACTIONS,
    LevelSettings,
    coordinates,
    generate_level,
    grid,
    move,
    parse_level,
    relative,
)
from sampo_envs.sokoban.render import LEGENDS, TEXT_RENDERINGS, text_rendering

ROWS = [
    "######",
    "#+$* #",
    "# # .#",
    "#  $ #",
    "######",
]


def test_grid_has_a_symbol_for_every_kind_of_cell():
    expected = [
        "# # # # # #",
        "# S X * _ #",
        "# _ # _ O #",
        "# _ _ X _ #",
        "# # # # # #",
    ]
    assert grid(*parse_level(ROWS)) == "\n".join(expected)
    plain = parse_level(["#####", "#@$.#", "#####"])
    assert grid(*plain).splitlines()[1] == "# P X O #"


def test_coordinates_name_rows_by_letters_and_columns_by_numbers():
    assert coordinates(*parse_level(ROWS)) == "player a1 box a2 a3 c3 target a1 a3 b4 walls b2"


def test_relative_tells_the_ways():
    # One box: player b1, box b3 is two to the right, the target a3 one above the box; b2's upper
    # neighbour a2 is a wall, and so is the left neighbour of the player.
    rows = ["######", "# #. #", "#@ $ #", "#    #", "######"]
    assert relative(*parse_level(rows)) == (
        "player b1 box same 0 right 2 target up 1 same 0 player walls left box walls walls a2"
    )
    # Several boxes: each from the player, targets from the first box.
    text = relative(*parse_level(ROWS))
    assert text.startswith(
        "player a1 box same 0 right 1 box same 0 right 2 box down 2 right 2 "
        "target same 0 left 1 target same 0 right 1 target down 1 right 2 player walls up left"
    )


@pytest.mark.parametrize("name", sorted(TEXT_RENDERINGS))
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), walk=st.lists(st.sampled_from(ACTIONS), max_size=12))
def test_different_states_look_different(name: str, seed: int, walk: list[str]):
    draw = text_rendering(name)
    board, state = generate_level(LevelSettings(boxes=2), seed)
    looks = {draw(board, state): state}
    for action in walk:
        state = move(board, state, action)
        assert looks.setdefault(draw(board, state), state) == state


def test_every_rendering_has_a_legend():
    assert LEGENDS.keys() == TEXT_RENDERINGS.keys()


def test_an_unknown_rendering_names_the_nearest():
    with pytest.raises(ConfigError, match="Did you mean 'grid'"):
        text_rendering("gird")
