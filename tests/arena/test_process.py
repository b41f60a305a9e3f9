"""A command of a run: its log, its exit code, and that nobody else is at work there."""

import fcntl
import os
import signal
import subprocess
import sys
import time

import pytest

from sampo.arena.process import run_process


def run(folder, code, **kwargs):
    return run_process([sys.executable, "-c", code], str(folder), "log", str(folder), **kwargs)


def test_log_code_and_surroundings(tmp_path):
    code = "import os, sys; print(os.getcwd(), os.environ['NO_COLOR']); sys.exit(3)"
    assert run(tmp_path, code) == 3
    assert run(tmp_path, "print('more')") == 0
    assert (tmp_path / "log").read_text() == f"{tmp_path} 1\nmore\n"


def test_a_run_is_never_made_twice_at_once(tmp_path):
    """The lock is the process's own: it lasts when whoever started it is killed."""
    child = "import time, os; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"
    command, place = [sys.executable, "-c", child], str(tmp_path)
    starter = (
        "from sampo.arena.process import run_process; "
        f"run_process({command}, {place!r}, 'log', {place!r})"
    )
    first = subprocess.Popen([sys.executable, "-c", starter])
    until = time.monotonic() + 30
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < until
        time.sleep(0.02)
    first.kill()
    first.wait()
    assert run(tmp_path, "print('never')") == 1
    assert "another process is at work" in (tmp_path / "log").read_text()
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    while run(tmp_path, "print('now')") != 0:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert (tmp_path / "log").read_text().endswith("now\n")


def test_whoever_is_interrupted_ends_the_process(tmp_path):
    processes = []

    def interrupt(process):
        processes.append(process)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, "import time; time.sleep(60)", started=interrupt)
    assert processes[0].returncode == -signal.SIGTERM


def test_a_file_system_without_locks_is_told_and_no_hindrance(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", none)
    assert run(tmp_path, "print('ran')") == 0
    assert "Function not implemented" in (tmp_path / "log").read_text()
    assert "ran" in (tmp_path / "log").read_text()
