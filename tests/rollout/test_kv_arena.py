"""The table of keys and values: what is written, seen, copied and hidden."""

from __future__ import annotations

import torch

from sampo.rollout.kv_arena import KeyValueArena


def write(arena: KeyValueArena, first: int, starts: list[int], rows: list[list[float]]):
    """Write keys (and their negatives as values) and return visible keys and the mask."""
    positions, visible = arena.open_window(first, torch.tensor(starts), len(rows[0]))
    keys = torch.tensor(rows)[:, None, :, None]
    seen, negatives = arena.cache.update(keys, -keys, 0)
    assert torch.equal(seen, -negatives)
    return positions.tolist(), visible[:, 0].int().tolist(), seen[:, 0, :, 0].tolist()


def test_two_rows_of_different_length_take_one_step():
    """Slot 0 holds 2 tokens, slot 1 one; each sees its own tokens and the new one."""
    arena = KeyValueArena(1)
    arena.rebuild([], slots=2, capacity=4)
    write(arena, 0, [0, 0], [[1.0, 2.0], [5.0, 99.0]])  # 99 is padding
    positions, visible, keys = write(arena, 0, [2, 1], [[3.0], [6.0]])
    assert positions == [[2], [1]]
    assert visible == [[[1, 1, 1]], [[1, 1, 0]]]
    assert keys == [[1.0, 2.0, 3.0], [5.0, 6.0, 0.0]]


def test_prefill_is_causal_behind_what_is_cached():
    arena = KeyValueArena(1)
    arena.rebuild([], slots=1, capacity=5)
    write(arena, 0, [0], [[1.0, 2.0]])
    _, visible, keys = write(arena, 0, [2], [[3.0, 4.0]])
    assert visible == [[[1, 1, 1, 0], [1, 1, 1, 1]]]
    assert keys == [[1.0, 2.0, 3.0, 4.0]]


def test_padding_that_reaches_past_the_table_goes_into_its_last_column():
    arena = KeyValueArena(1)
    arena.rebuild([], slots=2, capacity=4)
    write(arena, 0, [0, 0], [[1.0, 2.0], [5.0, 6.0]])
    _, visible, keys = write(arena, 0, [0, 2], [[1.0, 2.0, 3.0], [7.0, 99.0, 99.0]])
    assert keys == [[1.0, 2.0, 3.0, 0.0], [5.0, 6.0, 7.0, 99.0]]
    assert visible[1][0] == [1, 1, 1, 0]
    assert write(arena, 1, [3], [[8.0]])[2] == [[5.0, 6.0, 7.0, 8.0]]


def test_copy_swap_and_rebuild_move_whole_prefixes():
    arena = KeyValueArena(1)
    arena.rebuild([], slots=3, capacity=3)
    write(arena, 0, [0, 0, 0], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    arena.swap(0, 2, 2)
    arena.copy(1, 0, 1)
    assert write(arena, 0, [2, 2, 2], [[7.0], [8.0], [9.0]])[2] == [
        [3.0, 6.0, 7.0],
        [3.0, 4.0, 8.0],
        [1.0, 2.0, 9.0],
    ]
    arena.rebuild([(2, 3), (0, 2)], slots=2, capacity=5)
    assert (arena.slots, arena.capacity) == (2, 5)
    assert write(arena, 0, [3, 2], [[10.0], [11.0]])[2] == [
        [1.0, 2.0, 9.0, 10.0],
        [3.0, 6.0, 11.0, 0.0],
    ]
