"""Generated levels: a random room, played backwards from its solution.

A level is a pure function of its settings, its seed and the boards that are accepted. The boxes
start on the targets and the player pulls them away, so the pulls in reverse are pushes that solve
the level: every generated level is solvable, and no box of it starts on a target.

References:
    Weber et al., *Imagination-Augmented Agents for Deep Reinforcement Learning*, appendix on
    Sokoban, https://arxiv.org/abs/1707.06203 (the idea); the sizes and probabilities are those of
    the environment used by *ARLArena*, https://arxiv.org/abs/2602.21534.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from sampo.errors import ConfigError
from sampo_envs.sokoban.board import Board, Level, State, cells, check_side, offsets
from sampo_envs.sokoban.rooms import dig_floor, pick

MAX_ROOMS = 20_000
"""Rooms to try before the settings are called impossible."""

WANDER_PROBABILITY = 0.5
"""Chance that the player starts a few steps away from its last pull."""

WANDER_PROBABILITY_SHORT = 0.8
"""The same, where the boxes are only one cell away from their targets."""

MAX_WANDER = 3
"""Most steps of that walk."""


@dataclass(frozen=True, kw_only=True)
class LevelSettings:
    """What kind of levels to generate; the defaults are the paper's."""

    size: int = 6
    """Side of the square board in cells, the walls around it included."""
    boxes: int = 1
    """Number of boxes, and of targets."""
    search_depth: int = 30
    """Longest backward play in moves; deeper makes levels harder and slower to generate."""
    search_states: int = 20_000
    """Most states that the backward play visits in one room."""

    def __post_init__(self) -> None:
        check_side(self.size, "size")
        for name, value in (
            ("boxes", self.boxes),
            ("search_depth", self.search_depth),
            ("search_states", self.search_states),
        ):
            if value < 1:
                raise ConfigError(f"Sokoban: {name} is {value}; it must be at least 1.")


def generate_level(
    settings: LevelSettings, seed: int, accept: Callable[[Board], bool] | None = None
) -> Level:
    """Return the level of a seed.

    Args:
        settings: The kind of level.
        seed: Any integer from 0 up.
        accept: Called with each candidate board (walls and targets) before the costly backward
            play; the level is built on the first board that it accepts. None accepts all.

    Raises:
        ConfigError: No room of this kind can be found, for instance because the boxes do not fit.
    """
    if seed < 0:
        raise ConfigError(f"Sokoban: the seed is {seed}; seeds are 0 or more.")
    rng = Random(seed)
    for _ in range(MAX_ROOMS):
        floor = dig_floor(rng, settings.size)
        free = cells(floor)
        if len(free) < settings.boxes + 2:
            continue
        player, *targets = _sample(rng, free, settings.boxes + 1)
        walls = (1 << settings.size**2) - 1 & ~floor
        board = Board(
            height=settings.size, width=settings.size, walls=walls, targets=_bits(targets)
        )
        if accept is not None and not accept(board):
            continue
        far = _farthest(rng, board, player, tuple(targets), settings)
        if far is not None:
            return Level(board, _wander(rng, board, far))
    raise ConfigError(
        f"Sokoban: no level with size {settings.size}, {settings.boxes} boxes and search_depth "
        f"{settings.search_depth} was found in {MAX_ROOMS} rooms (seed {seed}). Take a larger "
        "size, fewer boxes or a deeper search."
    )


class _Node(NamedTuple):
    """A state of the backward play; boxes keep the order of the targets they came from."""

    player: int
    boxes: tuple[int, ...]
    occupied: int
    """Bit set of the boxes."""
    last_pulled: int
    """Index of the box that was pulled last, -1 before the first pull."""
    swaps: int
    """How often the pulled box was another one than before."""
    moves_left: int


class _Far(NamedTuple):
    """The best state of the backward play."""

    state: State
    distance: int
    """Cells between the boxes and the targets they came from, summed over the boxes."""


def _farthest(
    rng: Random, board: Board, player: int, targets: tuple[int, ...], settings: LevelSettings
) -> _Far | None:
    """Pull the boxes away from the targets, depth first, and return the best state seen.

    A state scores swaps x distance, and nothing while a box stands on a target. A box behind the
    player always comes along.

    Returns:
        The first state with the highest score, or None where no state scores.
    """
    steps = list(offsets(board.width))
    for last in (3, 2, 1):
        other = int(rng.random() * (last + 1))
        steps[last], steps[other] = steps[other], steps[last]
    gaps = _gaps(targets, board)
    walls, goals, area = board.walls, board.targets, board.height * board.width
    best, best_score = None, 0
    seen: set[int] = set()
    stack = [_Node(player, targets, goals, -1, 0, settings.search_depth)]
    while stack and len(seen) < settings.search_states:
        node = stack.pop()
        at, boxes, occupied, last_pulled, swaps, moves_left = node
        key = occupied * area + at
        if key in seen:
            continue
        seen.add(key)
        if swaps and not occupied & goals:
            distance = sum(gap[box] for gap, box in zip(gaps, boxes, strict=True))
            if swaps * distance > best_score:
                best_score = swaps * distance
                best = _Far(State(at, occupied), distance)
        if moves_left == 0:
            continue
        blocked = walls | occupied
        for step in steps:
            to = at + step
            if blocked >> to & 1:
                continue
            behind = at - step
            if occupied >> behind & 1:
                stack.append(_pull(node, behind, to))
            elif occupied * area + to not in seen:
                stack.append(_Node(to, boxes, occupied, last_pulled, swaps, moves_left - 1))
    return best


def _pull(node: _Node, box: int, to: int) -> _Node:
    """Return the state after the player stepped to `to` and drew the box behind it along."""
    index = node.boxes.index(box)
    return _Node(
        to,
        (*node.boxes[:index], node.player, *node.boxes[index + 1 :]),
        node.occupied ^ (1 << box | 1 << node.player),
        index,
        node.swaps + (index != node.last_pulled),
        node.moves_left - 1,
    )


def _gaps(targets: tuple[int, ...], board: Board) -> list[list[int]]:
    """Return for each target the number of rows plus columns between it and every cell."""
    area, width = board.height * board.width, board.width
    return [
        [
            abs(cell // width - target // width) + abs(cell % width - target % width)
            for cell in range(area)
        ]
        for target in targets
    ]


def _wander(rng: Random, board: Board, far: _Far) -> State:
    """Return the state after the player has perhaps walked a few steps without pushing."""
    player, boxes = far.state
    probability = WANDER_PROBABILITY_SHORT if far.distance == 1 else WANDER_PROBABILITY
    if rng.random() < probability:
        blocked = board.walls | boxes
        for _ in range(1 + int(rng.random() * MAX_WANDER)):
            open_steps = [
                step for step in offsets(board.width) if not blocked >> (player + step) & 1
            ]
            if open_steps:
                player += pick(rng, open_steps)
    return State(player, boxes)


def _sample(rng: Random, options: list[int], count: int) -> list[int]:
    """Return `count` different options in random order; shuffles the head of `options`."""
    for index in range(count):
        other = index + int(rng.random() * (len(options) - index))
        options[index], options[other] = options[other], options[index]
    return options[:count]


def _bits(members: list[int]) -> int:
    """Return the bit set of some cells."""
    bits = 0
    for cell in members:
        bits |= 1 << cell
    return bits
