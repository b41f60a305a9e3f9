"""The life of worker processes: how they start, share the work, and end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from sampo.errors import EnvFailure
from sampo.rollout.workers import EnvFault, EnvPool, EnvReply


@pytest.fixture
def faulty(monkeypatch):
    """The module of misbehaving environments, importable here only thanks to sys.path."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    return import_module("faulty_envs")


def answers(pool: EnvPool) -> dict[int, EnvReply | EnvFault]:
    """Wait for all that is pending."""
    got = {}
    while pool.pending:
        for slot, answer in pool.poll():
            assert slot not in got
            got[slot] = answer
    return got


def reply(pool: EnvPool, slot: int) -> EnvReply:
    answer = answers(pool)[slot]
    assert isinstance(answer, EnvReply), answer
    return answer


def test_printing_and_reading_stdin_do_no_harm(faulty):
    with EnvPool(faulty.FaultyEnv()) as pool:
        pool.reset(0, "t", 0)
        answers(pool)
        pool.step(0, "print")
        reply(pool, 0)
        pool.step(0, "read stdin")
        assert reply(pool, 0).reward == 2


def test_workers_share_the_slots_and_close_their_environments(faulty, tmp_path):
    note = str(tmp_path / "note")
    with EnvPool(faulty.FaultyEnv(), num_workers=2) as pool:
        for slot in range(4):
            pool.reset(slot, "pid", 0)
        seen = [answer.observation for answer in answers(pool).values()]  # type: ignore[union-attr]
        assert len(set(seen)) == 2
        for slot in range(4):
            pool.step(slot, "note close")
        answers(pool)
        for slot in range(4):
            pool.step(slot, note)
        answers(pool)
        pool.release(0)
        pool.reset(5, "t", 0)
        answers(pool)
        assert Path(note).read_text() == "closed\n"
    assert Path(note).read_text() == "closed\n" * 4


def test_an_environment_that_cannot_start_is_an_error_at_once(faulty):
    with pytest.raises(EnvFailure, match=r"FaultyEnv cannot be pickled.*Store only settings"):
        EnvPool(faulty.FaultyEnv(prototype_lock=True))
    for env, why in (
        (faulty.PidEnv(), "unpickling it raised ImportError: this simulator is not installed"),
        (faulty.CrashOnLoad(), "start crashed the worker process, exit code 9"),
    ):
        with EnvPool(env) as pool:
            pool.reset(0, "t", 0)
            with pytest.raises(EnvFailure, match=why):
                pool.poll()


def test_a_timeout_of_poll_returns_without_an_answer(faulty):
    with EnvPool(faulty.FaultyEnv(), step_timeout_s=60) as pool:
        pool.reset(0, "t", 0)
        answers(pool)
        pool.step(0, "hang")
        start = time.monotonic()
        assert pool.poll(timeout_s=0.2) == []
        assert 0.15 < time.monotonic() - start < 30
        assert pool.pending == 1
    # Closing does not wait for the hanging step: it is killed.
    assert time.monotonic() - start < 30


PARENT = """
import os, signal, sys, time
from faulty_envs import FaultyEnv
from sampo.rollout.workers import EnvPool
pool = EnvPool(FaultyEnv(), step_timeout_s=60)
pool.reset(0, "pid", 0)
print(pool.poll()[0][1].observation.split()[-1], "torch" in sys.modules, flush=True)
pool.step(0, "hang")
pool.poll(timeout_s=0.3)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_die_with_a_parent_that_was_killed(faulty):
    """Even in the middle of a hanging step; and neither imports torch."""
    source = Path(sys.modules["sampo"].__path__[0]).parent
    path = os.pathsep.join([str(source), str(Path(__file__).parent)])
    parent = subprocess.run(
        [sys.executable, "-c", PARENT],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert parent.returncode == -signal.SIGKILL, parent.stderr
    pid, torch = parent.stdout.split()
    assert torch == "False"
    until = time.monotonic() + 10
    while alive(int(pid)):
        assert time.monotonic() < until, "the worker outlived its parent"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


def num_open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(sys.platform != "linux", reason="counts files in /proc")
def test_nothing_is_left_behind(faulty):
    """No child process, and no open file."""
    files = num_open_files()
    with EnvPool(faulty.FaultyEnv(), num_workers=2) as pool:
        for slot in range(2):
            pool.reset(slot, "t", 0)
        answers(pool)
        pool.step(0, "exit")
        answers(pool)
    assert num_open_files() == files
