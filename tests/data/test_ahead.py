"""A rollout in another thread: one at a time, its errors are not lost, and it can be broken off."""

import threading
import time

import pytest

from sampo.data.ahead import RolloutAhead
from sampo.data.group_rollout import Rollout
from sampo.errors import EnvFailure
from sampo.rollout.cancellation import Cancellation, RolloutCancelledError

ROLLOUT = Rollout(update=3, groups=())


def ahead_of(play):
    cancellation = Cancellation()
    return RolloutAhead(lambda: play(cancellation), cancellation)


def test_nothing_was_begun():
    ahead = ahead_of(lambda _: ROLLOUT)
    ahead.wait()
    ahead.discard()
    assert ahead.take() is None
    ahead.close()


def test_it_is_played_elsewhere_and_taken_once():
    where = []

    def play(_):
        where.append(threading.current_thread())
        time.sleep(0.1)
        return ROLLOUT

    ahead = ahead_of(play)
    ahead.start()
    ahead.wait()
    assert ahead.take() is ROLLOUT
    assert ahead.take() is None
    assert where[0] is not threading.current_thread()
    assert ahead.waited_s >= 0.05
    ahead.close()


def test_what_it_raises_is_raised_where_it_is_taken():
    def play(_):
        raise EnvFailure("the kitchen is on fire")

    ahead = ahead_of(play)
    ahead.start()
    ahead.wait()
    with pytest.raises(EnvFailure, match="on fire"):
        ahead.take()
    ahead.close()


def test_breaking_off_ends_it_and_the_next_one_is_whole():
    begun = threading.Event()

    def play(cancellation):
        begun.set()
        until = time.monotonic() + 0.2 if begun.wait(0) and again else time.monotonic() + 60
        while time.monotonic() < until:
            cancellation.check()
            time.sleep(0.005)
        return ROLLOUT

    again = False
    ahead = ahead_of(play)
    ahead.start()
    begun.wait(10)
    started = time.monotonic()
    ahead.discard()
    assert time.monotonic() - started < 10
    assert ahead.take() is None
    again = True
    ahead.start()
    assert ahead.take() is ROLLOUT
    ahead.close()


def test_an_error_is_not_lost_when_it_is_broken_off():
    def play(_):
        raise EnvFailure("the kitchen is on fire")

    ahead = ahead_of(play)
    ahead.start()
    ahead.wait()
    with pytest.raises(EnvFailure, match="on fire"):
        ahead.close()


def test_the_flag_is_raised_as_an_error():
    cancellation = Cancellation()
    cancellation.check()
    cancellation.demand()
    with pytest.raises(RolloutCancelledError):
        cancellation.check()
    cancellation.withdraw()
    cancellation.check()
