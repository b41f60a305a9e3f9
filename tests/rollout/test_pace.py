"""Waiting: how long, and for whom."""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate
from typing import Any

import pytest

from sampo.errors import ConfigError
from sampo.rollout.pace import Pace, RequestLimits, retry_after_s


def test_waits_double_up_to_a_bound_with_up_to_half_left_off() -> None:
    limits = RequestLimits(first_wait_s=1.0, longest_wait_s=5.0)
    for repetition, full in enumerate([1.0, 2.0, 4.0, 5.0, 5.0]):
        waits = [limits.wait_s(repetition) for _ in range(50)]
        assert full / 2 <= min(waits) < max(waits) <= full


def test_a_date_is_a_way_to_say_how_long() -> None:
    date = formatdate(time.time() + 30, usegmt=True)
    assert retry_after_s({"Retry-After": date}) == pytest.approx(30, abs=2)
    assert retry_after_s({"Retry-After": formatdate(0, usegmt=True)}) == 0
    assert retry_after_s({"Retry-After": "soon"}) is None
    assert retry_after_s({}) is None


def test_nothing_goes_out_while_the_server_rests() -> None:
    async def go() -> float:
        pace = Pace(None)
        await pace.turn()  # at once
        started = time.monotonic()
        pace.rest(0.1)
        await asyncio.gather(*[pace.turn() for _ in range(20)])
        return time.monotonic() - started

    assert 0.1 <= asyncio.run(go()) < 0.3


@pytest.mark.parametrize(
    "settings",
    [{"max_concurrent": 0}, {"max_retries": -1}, {"timeout_s": 0}, {"requests_per_minute": 0}],
)
def test_limits_that_cannot_be_kept(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="limits needs"):
        RequestLimits(**settings)
