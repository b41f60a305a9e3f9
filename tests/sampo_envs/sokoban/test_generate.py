"""Generated levels: solvable, unsolved, reproducible, and of the kind that was asked for."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampo.errors import ConfigError
from sampo_envs.sokoban import LevelSettings, generate, generate_level, is_solved, move, solve
from sampo_envs.sokoban.board import boxes_on_target, ring
from sampo_envs.sokoban.boxoban import parse_level

ROOT = Path(__file__).parents[3]


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**40), size=st.integers(5, 7), boxes=st.integers(1, 2))
def test_every_level_is_sound_and_its_solution_solves_it(seed: int, size: int, boxes: int):
    board, start = generate_level(LevelSettings(size=size, boxes=boxes), seed)
    assert (board.height, board.width) == (size, size)
    assert not ring(size, size) & ~board.walls
    assert start.boxes.bit_count() == board.targets.bit_count() == boxes
    assert not board.walls & (board.targets | start.boxes | 1 << start.player)
    assert not start.boxes >> start.player & 1
    assert boxes_on_target(board, start) == 0

    actions = solve(board, start).actions
    assert actions
    state = start
    for action in actions:
        assert not is_solved(board, state)
        state = move(board, state, action)
    assert is_solved(board, state)


def test_a_seed_means_the_same_level_for_ever():
    # Written down from the first version: a change here changes everyone's levels.
    one_box = ["######", "#### #", "# ## #", "#@$ .#", "#    #", "######"]
    two_boxes = [
        "#######",
        "#######",
        "#   . #",
        "#@$ $ #",
        "####  #",
        "####. #",
        "#######",
    ]
    assert generate_level(LevelSettings(), 0) == parse_level(one_box)
    assert generate_level(LevelSettings(size=7, boxes=2), 3) == parse_level(two_boxes)


def test_levels_do_not_depend_on_the_hash_seed():
    program = (
        "from sampo_envs.sokoban import LevelSettings, generate_level, split_of\n"
        "for seed in range(20):\n"
        "    level = generate_level(LevelSettings(size=7, boxes=2), seed)\n"
        "    print(level, split_of(level.board))\n"
    )
    path = os.pathsep.join(str(ROOT / folder) for folder in ("src", "envs"))
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert outputs[0].count("Board(") == 20
    assert outputs[0] == outputs[1]


def test_levels_are_as_hard_as_the_papers():
    # The reference generator: shortest solutions of 1 to 9 moves, 3.8 on average.
    levels = [generate_level(LevelSettings(), seed) for seed in range(300)]
    lengths = [len(solve(*level).actions or ()) for level in levels]
    assert min(lengths) == 1
    assert 3.3 < statistics.mean(lengths) < 4.5


def test_one_move_of_search_is_one_push():
    # With search_depth=1 the only backward play is one pull: the box is one cell from its target.
    for seed in range(20):
        board, start = generate_level(LevelSettings(search_depth=1), seed)
        apart = abs(start.boxes.bit_length() - board.targets.bit_length())
        assert apart in (1, 6)  # the next column or the next row


def test_backward_play_by_hand():
    """In this corridor the target is cell 7 and the player stands at cell 8.

    ::

        ######      One pull to the right moves the player to 9 and the box to 8, a second one
        #.@  #      to 10 and 9; the wall ends it. The box is then 2 cells from its target.
        ######
    """
    board, _ = parse_level(["######", "#.@$ #", "######"])
    far = generate._farthest(Random(0), board, 8, (7,), LevelSettings())
    assert far is not None
    assert far.state == (10, 1 << 9)
    assert far.distance == 2


def test_accept_decides_on_the_board():
    seen = []

    def third(board: object) -> bool:
        seen.append(board)
        return len(seen) == 3

    level = generate_level(LevelSettings(), 5, accept=third)
    assert len(seen) >= 3 and level.board == seen[2]


@pytest.mark.parametrize("name", ["boxes", "search_depth", "search_states"])
def test_settings_below_one_are_named(name: str):
    with pytest.raises(ConfigError, match=f"{name} is 0"):
        LevelSettings(**{name: 0})


def test_size_out_of_range_is_named():
    with pytest.raises(ConfigError, match="size is 40"):
        LevelSettings(size=40)


def test_impossible_settings_end_with_a_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(generate, "MAX_ROOMS", 50)
    with pytest.raises(ConfigError, match=r"5 boxes.*larger size, fewer boxes"):
        generate_level(LevelSettings(size=4, boxes=5), 0)


def test_negative_seeds_are_refused():
    with pytest.raises(ConfigError, match="seed is -1"):
        generate_level(LevelSettings(), -1)
