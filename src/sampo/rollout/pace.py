"""When the next request to a server may go out, and how long to wait before a repeated one."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from sampo.errors import ConfigError

_JITTER = random.Random()
"""Of its own: waiting must not move the random numbers of a run."""


@dataclass(frozen=True, kw_only=True)
class RequestLimits:
    """How hard a server is worked, and how patiently."""

    max_concurrent: int = 16
    """Most requests on their way at once."""
    requests_per_minute: float | None = None
    """Requests, repeated ones included, go out no closer together than this; null: no limit."""
    timeout_s: float = 120.0
    """Most seconds for one try, the model's writing included."""
    max_retries: int = 6
    """How often a request is repeated that met a dead connection, a timeout, 408, 409, 425, 429 or
    5xx. With the waits below, six take about half a minute in all."""
    first_wait_s: float = 0.5
    """Before the first repetition; it doubles with each one, and a random half of it is left off so
    that requests do not come back in step."""
    longest_wait_s: float = 60.0
    """Bound of the doubling. A server that asks for more with `Retry-After` ends the run."""

    def __post_init__(self) -> None:
        """Refuse limits that cannot be kept."""
        if self.max_concurrent < 1 or self.max_retries < 0:
            raise ConfigError(
                "limits needs max_concurrent of at least 1 and max_retries of at least 0, got "
                f"{self.max_concurrent} and {self.max_retries}."
            )
        rate = self.requests_per_minute
        if min(self.timeout_s, self.first_wait_s, self.longest_wait_s) <= 0 or (
            rate is not None and rate <= 0
        ):
            raise ConfigError(
                "limits needs requests_per_minute, timeout_s, first_wait_s and longest_wait_s "
                f"above 0, got {self}."
            )

    @property
    def longest_request_s(self) -> float:
        """Seconds after which some request must have ended, well or badly."""
        gap_s = 60.0 / self.requests_per_minute if self.requests_per_minute else 0.0
        tries = self.max_retries + 1
        return tries * (self.timeout_s + 2 * self.longest_wait_s + self.max_concurrent * gap_s)

    def wait_s(self, repetition: int) -> float:
        """Return the seconds before a repetition, the first being 0."""
        full = min(self.first_wait_s * 2.0**repetition, self.longest_wait_s)
        return full * _JITTER.uniform(0.5, 1.0)


class Pace:
    """Lets requests out no closer together than allowed, and none while the server wants a rest.

    Args:
        requests_per_minute: None: no limit.
    """

    def __init__(self, requests_per_minute: float | None) -> None:
        self._gap_s = 0.0 if requests_per_minute is None else 60.0 / requests_per_minute
        self._next = 0.0
        """When the next request may go out, on the monotonic clock."""

    async def turn(self) -> None:
        """Wait until a request may go out."""
        while (wait_s := self._next - time.monotonic()) > 0:
            await asyncio.sleep(wait_s)
        self._next = time.monotonic() + self._gap_s

    def rest(self, seconds: float) -> None:
        """Let nothing out for this long."""
        self._next = max(self._next, time.monotonic() + seconds)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return how long a server asks to be left alone, in seconds; None where it does not.

    Reads `Retry-After`, as seconds or as a date, and OpenAI's `retry-after-ms`.

    Example:
        >>> retry_after_s({"Retry-After": "7"}), retry_after_s({"retry-after-ms": "250"})
        (7.0, 0.25)
    """
    given = {name.lower(): value for name, value in headers.items()}
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(float(given[name]) * unit_s, 0.0)
        except (KeyError, ValueError):
            continue
    try:
        return max(parsedate_to_datetime(given.get("retry-after", "")).timestamp() - time.time(), 0)
    except ValueError:
        return None
