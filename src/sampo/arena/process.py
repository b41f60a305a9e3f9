"""One command of a run, on the machine where it runs; every launcher ends here."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_PATIENCE = 1.0
"""Seconds after which an interrupt is noticed."""


def run_process(
    command: Sequence[str],
    folder: str,
    log: str,
    cwd: str,
    *,
    env: Mapping[str, str] | None = None,
    started: Callable[[subprocess.Popen[bytes]], None] | None = None,
) -> int:
    """Run a command to its end and return its exit code; what it says goes to a file.

    The process holds a lock on the run's folder, also when whoever started it is killed, so that no
    run is ever made twice at the same time.

    Args:
        command: the program and its arguments.
        folder: the run's own, absolute; on every machine the same.
        log: name of a file in it.
        cwd: where relative paths in the command start.
        env: on top of this process's.
        started: told the process.
    """
    with (Path(folder) / log).open("ab") as output, (Path(folder) / ".lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            output.write(f"sampo: error: another process is at work in {folder}.\n".encode())
            return 1
        except OSError as error:
            # Some shared file systems know no locks: run all the same, and say so in the log.
            output.write(f"No lock on {folder}: {error}.\n".encode())
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            env={**_env(), **(env or {})},
            cwd=cwd,
            pass_fds=[lock.fileno()],
            start_new_session=True,  # Ctrl-C reaches the arena alone, which ends it
        )
        try:
            if started is not None:
                started(process)
            while True:  # an endless `wait` is one that Ray's interrupt does not get through
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(timeout=_PATIENCE)
        except BaseException:
            process.terminate()
            process.wait()
            raise


def _env() -> dict[str, str]:
    """Return the environment of a run: no colours, and one torch thread unless asked otherwise."""
    return {"OMP_NUM_THREADS": "1", **os.environ, "NO_COLOR": "1", "TERM": "dumb"}
