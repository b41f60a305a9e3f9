"""The floor of a room: inside the ring, in one piece, and always the same."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from sampo_envs.sokoban.board import cells, offsets, ring
from sampo_envs.sokoban.rooms import dig_floor, pick


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9), size=st.integers(3, 12))
def test_floor_is_inside_the_ring_and_connected(seed: int, size: int):
    floor = dig_floor(Random(seed), size)
    assert floor and not floor & ring(size, size)
    reached, waiting = 0, [cells(floor)[0]]
    while waiting:
        cell = waiting.pop()
        if floor >> cell & 1 and not reached >> cell & 1:
            reached |= 1 << cell
            waiting += [cell + step for step in offsets(size)]
    assert reached == floor


def test_a_seed_means_the_same_room_for_ever():
    # Written down from the first version: a change here changes everyone's levels.
    assert [cells(dig_floor(Random(seed), 6)) for seed in (0, 1)] == [
        [10, 13, 16, 19, 20, 21, 22, 25, 26, 27, 28],
        [7, 8, 9, 10, 13, 14, 15, 16],
    ]


def test_pick_reaches_every_option_and_no_other():
    rng = Random(0)
    assert {pick(rng, "abc") for _ in range(100)} == {"a", "b", "c"}
