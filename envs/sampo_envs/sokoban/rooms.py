"""Empty rooms: the floor plan of a generated level, dug by a random walk.

The walk starts somewhere inside the ring, changes its direction now and then, and at each step digs
a small shape around itself. Only `random()` is drawn from, the one method whose sequence Python
promises to keep, so that a seed means the same room in every version and process.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import TypeVar

from sampo_envs.sokoban.board import ring

T = TypeVar("T")

WALK_LENGTH_PER_CELL = 1.7
"""Steps of the walk per cell of half the perimeter."""

TURN_PROBABILITY = 0.35
"""Chance of a new direction before each step of the walk."""

DIRECTIONS = ((0, 1), (0, -1), (1, 0), (-1, 0))
"""The directions of the walk as (rows, columns)."""

SHAPES = (
    ((0, -1), (0, 0), (0, 1)),
    ((-1, 0), (0, 0), (1, 0)),
    ((0, -1), (0, 0), (1, 0)),
    ((0, -1), (0, 0), (1, -1), (1, 0)),
    ((0, 0), (0, 1), (1, 0)),
)
"""What one step digs, relative to the walker: two bars, two corners and a block."""


def pick(rng: Random, options: Sequence[T]) -> T:
    """Return one of `options`, all equally likely, at the cost of one `random()`."""
    return options[int(rng.random() * len(options))]


def dig_floor(rng: Random, size: int) -> int:
    """Return the floor of a random square room as a bit set.

    Args:
        rng: Source of chance; advanced.
        size: Side of the room in cells, the ring of walls included.
    """
    table = _shape_table(size)
    last = size - 2
    row, column = 1 + int(rng.random() * last), 1 + int(rng.random() * last)
    rows, columns = pick(rng, DIRECTIONS)
    floor = 0
    for _ in range(int(WALK_LENGTH_PER_CELL * 2 * size)):
        if rng.random() < TURN_PROBABILITY:
            rows, columns = pick(rng, DIRECTIONS)
        row = min(max(row + rows, 1), last)
        column = min(max(column + columns, 1), last)
        floor |= pick(rng, table[row * size + column])
    return floor


@lru_cache(maxsize=32)
def _shape_table(size: int) -> tuple[tuple[int, ...], ...]:
    """Return for every cell what each shape digs there, clipped to the inside of the ring."""
    inside = (1 << size * size) - 1 & ~ring(size, size)
    table = []
    for cell in range(size * size):
        digs = []
        for shape in SHAPES:
            dug = 0
            for rows, columns in shape:
                around = cell + rows * size + columns
                if 0 <= around < size * size:
                    dug |= 1 << around
            digs.append(dug & inside)
        table.append(tuple(digs))
    return tuple(table)
