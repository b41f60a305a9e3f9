"""How a rollout in another thread is told to stop."""

from __future__ import annotations

from threading import Event


class RolloutCancelledError(Exception):
    """A rollout was broken off because nobody wants it any more; never reaches a user."""


class Cancellation:
    """A flag that one thread sets and the loop of another looks at between two steps."""

    def __init__(self) -> None:
        self._demanded = Event()

    def demand(self) -> None:
        """Ask for an end."""
        self._demanded.set()

    def withdraw(self) -> None:
        """Ask no longer."""
        self._demanded.clear()

    def check(self) -> None:
        """Raise `RolloutCancelledError` where an end was asked for."""
        if self._demanded.is_set():
            raise RolloutCancelledError
