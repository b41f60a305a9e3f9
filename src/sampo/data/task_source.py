"""The order in which tasks are played: a function of a counter, so that it resumes exactly."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from sampo.errors import ConfigError


class TaskSource:
    """Endless passes over a list of tasks, each pass in its own order.

    Args:
        tasks: task ids.
        seed: of the orders.
        shuffle: whether passes are shuffled; otherwise tasks come as listed.
    """

    def __init__(self, tasks: Sequence[str], *, seed: int, shuffle: bool = True) -> None:
        if not len(tasks):
            raise ConfigError(
                "The environment lists no task for this split. Let its `tasks(split)` return at "
                "least one, or choose another split."
            )
        self._tasks = tasks
        self._seed = seed
        self._shuffle = shuffle
        self._order = lru_cache(maxsize=2)(self._make_order)

    def __len__(self) -> int:
        """Return the number of tasks in one pass."""
        return len(self._tasks)

    def task(self, number: int) -> str:
        """Return the task number `number` of the endless sequence, counted from 0."""
        lap, place = divmod(number, len(self._tasks))
        return self._tasks[self._order(lap)[place]]

    def _make_order(self, lap: int) -> Sequence[int]:
        order = list(range(len(self._tasks)))
        if self._shuffle:
            random.Random(f"{self._seed}/{lap}").shuffle(order)
        return order
