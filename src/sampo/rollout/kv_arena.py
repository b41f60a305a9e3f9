"""Key-value cache of many sequences in one table of slots.

A slot holds the keys and values of one sequence, packed to the left: column `c` belongs to token
`c`, without holes. The running sequences are the first slots, so a decoding step works on a plain
view and writes one column per row; a sequence that stops or resumes costs the copy of its own row
and nothing else. Attention sees column `c` from position `p` exactly when `c <= p`, which also
hides whatever an earlier owner of the slot left behind.

Knows tensors and the cache interface of transformers; which sequence is in which slot is the
engine's business (`rollout.transformers_engine`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import Cache, DynamicLayer


@dataclass
class _Plan:
    """What the running forward pass reads and writes; shared by all layers."""

    slots: int = 0
    """Rows of the table."""
    capacity: int = 0
    """Columns of the table."""
    rows: slice = field(default_factory=lambda: slice(0, 0))
    """The slots in the forward pass."""
    write_rows: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.long))
    """int64 `[B, 1]`, slots of the tokens fed."""
    write_columns: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.long))
    """int64 `[B, Q]`, positions of the tokens fed."""
    width: int = 0
    """Columns that any of them may see."""


class _ArenaLayer(DynamicLayer):
    """The table of one layer, `[slots, heads, capacity, size]` each for keys and values.

    In this order of dimensions a CPU decodes about 1.7 times faster than with `heads` and
    `capacity` exchanged.
    """

    def __init__(self, plan: _Plan) -> None:
        super().__init__()
        self.plan = plan
        self.table: tuple[Tensor, Tensor] | None = None

    def update(
        self, key_states: Tensor, value_states: Tensor, *_args: Any, **_kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write the new columns `[B, heads, Q, size]` and return all visible ones."""
        plan = self.plan
        states = (key_states, value_states)
        if self.table is None:
            self.table = (_zeros_like(key_states, plan), _zeros_like(value_states, plan))
        for table, new in zip(self.table, states, strict=True):
            table[plan.write_rows, :, plan.write_columns] = new.transpose(1, 2)
        keys, values = (table[plan.rows, :, : plan.width] for table in self.table)
        return keys, values


class KeyValueArena:
    """The table of all layers.

    Args:
        num_layers: layers of the model.
    """

    def __init__(self, num_layers: int) -> None:
        self._plan = _Plan()
        self._layers = [_ArenaLayer(self._plan) for _ in range(num_layers)]
        self.cache = Cache(layers=list(self._layers))
        """What the model is called with."""

    @property
    def slots(self) -> int:
        """Sequences that the table has room for."""
        return self._plan.slots

    @property
    def capacity(self) -> int:
        """Tokens per sequence that the table has room for."""
        return self._plan.capacity

    def rebuild(self, kept: Sequence[tuple[int, int]], slots: int, capacity: int) -> None:
        """Make a new table and move sequences into its first slots.

        Args:
            kept: (old slot, tokens it holds), in their new order; all others are forgotten.
            slots: of the new table, at least `len(kept)`.
            capacity: of the new table, at least the tokens of any sequence.
        """
        self._plan.slots, self._plan.capacity = slots, capacity
        for layer in self._layers:
            if layer.table is None:
                continue
            tables: list[Tensor] = []
            for old in layer.table:
                new = old.new_zeros((slots, old.shape[1], capacity, old.shape[3]))
                for target, (source, length) in enumerate(kept):
                    new[target, :, :length] = old[source, :, :length]
                tables.append(new)
            layer.table = (tables[0], tables[1])

    def copy(self, source: int, target: int, length: int) -> None:
        """Copy the first `length` tokens of one slot to another."""
        for table in self._tables():
            table[target, :, :length] = table[source, :, :length]

    def swap(self, first: int, second: int, length: int) -> None:
        """Exchange the first `length` tokens of two slots."""
        for table in self._tables():
            held = table[first, :, :length].clone()
            table[first, :, :length] = table[second, :, :length]
            table[second, :, :length] = held

    def open_window(self, first: int, starts: Tensor, new: int) -> tuple[Tensor, Tensor]:
        """Prepare a forward pass of `new` tokens each on consecutive slots.

        Args:
            first: the first slot.
            starts: int64 `[B]`, tokens that each slot holds so far.
            new: tokens per row (`Q`); short rows are padded on the right, and what is written for
                the padding is hidden until later tokens overwrite it. Every row must leave the
                last column of the table free.

        Returns:
            Positions int64 `[B, Q]`, and which columns they see: bool `[B, 1, Q, T]`.
        """
        plan = self._plan
        device = starts.device
        positions = starts[:, None] + torch.arange(new, device=device)
        plan.rows = slice(first, first + len(starts))
        plan.write_rows = torch.arange(first, first + len(starts), device=device)[:, None]
        # Padding may reach past the table; a prompt never fills the last column, so it goes there.
        plan.write_columns = positions.clamp(max=plan.capacity - 1)
        plan.width = min(int(starts.max()) + new, plan.capacity)
        assert plan.rows.stop <= plan.slots
        columns = torch.arange(plan.width, device=device)
        return positions, columns <= positions[:, None, :, None]

    def _tables(self) -> list[Tensor]:
        return [table for layer in self._layers if layer.table is not None for table in layer.table]


def _zeros_like(states: Tensor, plan: _Plan) -> Tensor:
    """Return an empty table for `[B, heads, Q, size]` states; zeros, since 0 * NaN is NaN."""
    _, heads, _, size = states.shape
    return states.new_zeros((plan.slots, heads, plan.capacity, size))
