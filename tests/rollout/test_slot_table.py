"""Rows keep their own keys and values wherever they are moved.

A row's "keys" are its token ids, written into a one-layer arena; after any traffic, what a row's
slot holds must still be what it wrote.
"""

from __future__ import annotations

import random

import pytest
import torch

from sampo.rollout.kv_arena import KeyValueArena
from sampo.rollout.slot_table import Row, SlotTable


def make(ids: list[int], most_tokens: int = 100) -> Row:
    return Row(ids=ids, most_tokens=most_tokens)


class Table:
    """A slot table whose rows write their token ids as keys."""

    def __init__(self, max_tokens: int = 10**6) -> None:
        self.arena = KeyValueArena(1)
        self.slots: SlotTable[Row] = SlotTable(self.arena, max_tokens)

    def start(self, *rows: Row) -> None:
        self.slots.start(rows)
        for row in rows:
            self.feed(row)

    def feed(self, row: Row) -> None:
        """Write the keys of all tokens that are not cached."""
        new = torch.tensor(row.ids[row.cached :], dtype=torch.float64)
        self.arena.open_window(row.slot, torch.tensor([row.cached]), len(new))
        self.arena.cache.update(new[None, None, :, None], -new[None, None, :, None], 0)
        row.cached = len(row.ids)

    def read(self, row: Row, slot: int | None = None) -> list[float]:
        """Return the keys that the row's slot holds."""
        nothing = torch.zeros(1, 1, 1, 1, dtype=torch.float64)
        self.arena.open_window(row.slot if slot is None else slot, torch.tensor([row.cached]), 1)
        keys, values = self.arena.cache.update(nothing, nothing, 0)
        held = keys[0, 0, : row.cached, 0]
        assert torch.equal(values[0, 0, : row.cached, 0], -held)
        return held.tolist()


def test_rows_run_in_the_first_slots_and_the_last_fills_the_gap():
    table = Table()
    rows = [make([10 * i, 10 * i + 1]) for i in range(1, 5)]
    table.start(*rows)
    assert [row.slot for row in rows] == [0, 1, 2, 3]
    table.slots.stop(rows[1], None)
    assert [row.slot for row in rows] == [0, -1, 2, 1]
    assert [table.read(row) for row in table.slots.running] == [[10, 11], [40, 41], [30, 31]]


def test_a_parked_row_is_resumed_up_to_the_first_other_token():
    table = Table()
    row = make([1, 2, 3, 4])
    table.start(row)
    table.slots.stop(row, "a")
    assert table.slots.parked_tokens == 4
    later = make([1, 2, 9, 4, 5])
    table.slots.resume(later, "a")
    assert later.cached == 2 and table.slots.parked_tokens == 0
    table.start(later)
    assert table.read(later) == [1, 2, 9, 4, 5]


@pytest.mark.parametrize(("ids", "cached"), [([7], 0), ([1, 2, 3], 2), ([1, 2, 3, 4], 3)])
def test_the_last_token_is_never_taken_from_the_cache(ids: list[int], cached: int):
    table = Table()
    row = make([1, 2, 3, 4])
    table.start(row)
    table.slots.stop(row, "a")
    later = make(ids)
    table.slots.resume(later, "a")
    assert later.cached == cached


def test_room_counts_whole_rows_of_the_longest():
    """100 tokens take 128 columns, so 512 hold 4 rows; one row may always run."""
    table = Table(max_tokens=512)
    assert table.slots.room(100) == 4
    assert table.slots.room(5000) == 1
    table.start(make([1]), make([2]))
    assert table.slots.room(100) == 2
    assert table.slots.room(5000) == 0


def test_the_oldest_parked_rows_make_way():
    table = Table(max_tokens=384)
    for session in range(5):
        row = make([session, session])
        table.start(row)
        table.slots.stop(row, session)
    kept = []
    for session in range(5):
        row = make([session, session, 9])
        table.slots.resume(row, session)
        kept.append(row.cached)
    assert kept == [0, 0, 2, 2, 2]


def test_a_roomy_table_shrinks_when_more_rows_come():
    """One row of 128 columns gets room for 192, rounded up to 256; four rows fit with 128."""
    table = Table(max_tokens=512)
    rows = [make([i, i + 1]) for i in range(4)]
    table.start(rows[0])
    assert table.arena.capacity == 256
    table.start(*rows[1:])
    assert (table.arena.slots, table.arena.capacity) == (4, 128)
    assert [table.read(row) for row in rows] == [row.ids for row in rows]


def test_random_traffic_never_mixes_rows():
    rng = random.Random(0)
    table = Table(max_tokens=128 * 40)
    history: dict[int, list[int]] = {}
    running: dict[int, Row] = {}
    for _ in range(300):
        session = rng.randrange(12)
        if session in running:
            row = running.pop(session)
            table.slots.stop(row, session if rng.random() < 0.8 else None)
        elif rng.random() < 0.2:
            table.slots.forget(session)
        else:
            past = history.get(session, [])[: rng.randint(0, 300)]
            ids = past + [rng.randrange(1000) for _ in range(rng.randint(1, 40))]
            row = make(ids, most_tokens=len(ids) + 1)
            table.slots.resume(row, session)
            table.start(row)
            running[session] = row
            history[session] = row.ids
        for slot, row in enumerate(table.slots.running):
            assert row.slot == slot
            assert table.read(row) == row.ids
