"""Coroutines beside the caller's thread: begun, cancelled, ended."""

import asyncio
import threading
from concurrent.futures import CancelledError

import pytest

from sampo.rollout.background_loop import BackgroundLoop


async def nothing() -> None:
    """Do nothing last."""


def test_results_and_errors_come_back_from_another_thread() -> None:
    async def where() -> int:
        return threading.get_ident()

    async def fail() -> None:
        raise ValueError("broken")

    loop = BackgroundLoop("test")
    assert loop.start(where()).result() != threading.get_ident()
    with pytest.raises(ValueError, match="broken"):
        loop.start(fail()).result()
    loop.close(nothing())


def test_closing_cancels_what_runs_then_does_the_last_thing() -> None:
    said: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            said.append("cancelled")
            raise

    async def last() -> None:
        said.append("last")

    loop = BackgroundLoop("test")
    waiting = loop.start(wait())
    loop.start(asyncio.sleep(0)).result()  # so that it is under way
    loop.close(last())
    assert said == ["cancelled", "last"]
    with pytest.raises(CancelledError):
        waiting.result()
    assert all(thread.name != "test" for thread in threading.enumerate())
