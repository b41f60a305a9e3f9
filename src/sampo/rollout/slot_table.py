"""Which sequence is in which slot of the key-value arena: running, parked, or free.

Running rows are the first slots, without gaps. Behind them are the parked rows of sessions that
wait for their next prompt, and free slots, in any order. Rows change places by copies of single
rows, and only when they start or stop.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sampo.rollout.kv_arena import KeyValueArena

_COLUMN_STEP = 128
"""Columns are added in steps of this size, so that growing prompts seldom move the table."""


@dataclass(eq=False, kw_only=True)
class Row:
    """A sequence with a place in the table."""

    ids: list[int]
    """Prompt and reply so far."""
    most_tokens: int
    """Tokens that it may grow to, above those of its prompt."""
    cached: int = 0
    """Leading tokens whose keys and values are in the slot."""
    slot: int = -1
    """-1: none yet."""


R = TypeVar("R", bound=Row)


class SlotTable(Generic[R]):
    """Places rows in an arena.

    Args:
        arena: the keys and values; this class alone changes its shape.
        max_tokens: most `slots x capacity`; parked rows are forgotten, oldest first, to stay
            below it. A single running row may exceed it.
    """

    def __init__(self, arena: KeyValueArena, max_tokens: int) -> None:
        self.arena = arena
        self.running: list[R] = []
        """The running rows; the index is the slot."""
        self._max_tokens = max_tokens
        self._parked: dict[Hashable, R] = {}
        """By session, the longest parked first."""
        self._waiting: dict[int, R] = {}
        """By slot, all rows that hold one and do not run."""

    @property
    def parked_tokens(self) -> int:
        """Tokens kept for sessions that do not run."""
        return sum(row.cached for row in self._parked.values())

    def room(self, tokens: int) -> int:
        """Return how many rows that grow to `tokens` may start now, at least one if none runs."""
        longest = max([tokens, *(row.most_tokens for row in self.running)])
        fitting = self._max_tokens // _round_up(longest) - len(self.running)
        return max(fitting, 0 if self.running else 1)

    def resume(self, row: R, session: Hashable) -> None:
        """Let a new row take over what is parked for its session, as far as the tokens agree.

        At least the last token of the row stays uncached: its logits are needed.
        """
        parked = self._parked.pop(session, None)
        if parked is None:
            return
        del self._waiting[parked.slot]
        row.cached = _common_prefix(parked.ids[: parked.cached], row.ids[:-1])
        if row.cached:
            row.slot = parked.slot
            self._waiting[row.slot] = row

    def start(self, rows: Sequence[R]) -> None:
        """Make new or resumed rows running, in the order given."""
        self._reserve(rows)
        for row in rows:
            target = len(self.running)
            occupant = self._waiting.pop(target, None)
            if row.slot >= 0 and row.slot != target:
                self._waiting.pop(row.slot)
                if occupant is None:
                    self.arena.copy(row.slot, target, row.cached)
                else:
                    self.arena.swap(row.slot, target, max(row.cached, occupant.cached))
                    self._place(occupant, row.slot)
            elif row.slot < 0 and occupant is not None:
                free = self._free_slot(target + 1)
                self.arena.copy(target, free, occupant.cached)
                self._place(occupant, free)
            row.slot = target
            self.running.append(row)

    def stop(self, row: R, session: Hashable | None) -> None:
        """Take a row out of the running ones; park it where it has a session."""
        last = self.running[-1]
        freed = len(self.running) - 1
        if row is not last:
            if session is None:
                self.arena.copy(freed, row.slot, last.cached)
            else:
                self.arena.swap(freed, row.slot, max(last.cached, row.cached))
            self.running[row.slot] = last
            last.slot = row.slot
        self.running.pop()
        row.slot = -1
        if session is not None:
            self.forget(session)
            self._place(row, freed)
            self._parked[session] = row

    def forget(self, session: Hashable) -> None:
        """Free what is parked for a session, if anything is."""
        parked = self._parked.pop(session, None)
        if parked is not None:
            del self._waiting[parked.slot]

    def _reserve(self, rows: Sequence[R]) -> None:
        """Make the table large enough for further rows."""
        new_rows = sum(row.slot < 0 for row in rows)
        growing = [row.most_tokens for row in (*rows, *self.running)]

        def needed() -> tuple[int, int]:
            parked = [row.cached for row in self._parked.values()]
            slots = len(self.running) + len(self._waiting) + new_rows
            return slots, _round_up(max(growing + parked))

        while self._parked and math.prod(needed()) > self._max_tokens:
            self.forget(next(iter(self._parked)))
        slots, least = needed()
        most = max(self._max_tokens // slots, least)
        capacity = min(self.arena.capacity, most)
        if capacity < least:
            # Prompts grow turn by turn, so leave them room, as far as there is any.
            capacity = min(_round_up(least * 3 // 2), most)
        if slots > self.arena.slots or capacity != self.arena.capacity:
            slots = max(slots, min(self.arena.slots, self._max_tokens // capacity))
            self._rebuild(slots, capacity)

    def _rebuild(self, slots: int, capacity: int) -> None:
        waiting = list(self._waiting.values())
        kept = [(row.slot, row.cached) for row in (*self.running, *waiting)]
        self.arena.rebuild(kept, slots, capacity)
        self._waiting = {}
        for slot, row in enumerate(waiting, start=len(self.running)):
            self._place(row, slot)

    def _place(self, row: R, slot: int) -> None:
        row.slot = slot
        self._waiting[slot] = row

    def _free_slot(self, first: int) -> int:
        return next(slot for slot in range(first, self.arena.slots) if slot not in self._waiting)


def _round_up(tokens: int) -> int:
    return -(-tokens // _COLUMN_STEP) * _COLUMN_STEP


def _common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """Return how many leading tokens agree."""
    if first == second[: len(first)]:
        return len(first)
    pairs = enumerate(zip(first, second, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(first), len(second)))
