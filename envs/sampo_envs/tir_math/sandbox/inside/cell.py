"""One program in one process: fenced in, limited, run, gone.

`start` forks; everything else here happens in the child, which never returns to its caller.
"""

from __future__ import annotations

import linecache
import os
import random
import resource
import signal
import sys
import tempfile
import traceback
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import NoReturn

from . import namespaces, seccomp

_FILE = "<program>"
_OPEN_FILES = 64


@dataclass(frozen=True, kw_only=True)
class Fence:
    """How programs are kept in. Made from JSON; see `sampo_envs.tir_math.sandbox.Limits`."""

    alone: bool
    """Whether namespaces are to be had."""
    folder: str
    """Where the private working folder is mounted; not `alone`: the parent of a new one."""
    cpu_s: int
    memory_bytes: int
    file_bytes: int


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A running program, seen from the server; numbers are file descriptors."""

    pid: int
    stdout: int
    stderr: int
    fenced: int
    """Where the child writes a byte, before it runs anything, once it is fenced in."""
    folder: str | None
    """The folder to be removed afterwards, if it outlives the process."""


def start(program: str, earlier: list[str], fence: Fence) -> Cell:
    """Fork a child that runs `program` after `earlier` ones, whose output is thrown away."""
    folder = None if fence.alone else tempfile.mkdtemp(prefix="sampo-program-", dir=fence.folder)
    out, err, fenced = os.pipe(), os.pipe(), os.pipe()
    uid, gid = os.getuid(), os.getgid()
    pid = namespaces.fork_alone() if fence.alone else os.fork()
    if pid == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out[1], 1)
            os.dup2(err[1], 2)
            os.dup2(fenced[1], 3)
            os.closerange(4, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
            os.setsid()
            if fence.alone:
                namespaces.enter_private_folder(fence.folder, fence.file_bytes, uid, gid)
            _lock(folder or fence.folder, fence)
            os.write(3, b"1")
            os.close(3)
        except BaseException:  # noqa: BLE001 - nothing may run unfenced; the server says why
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        _run(program, earlier)
    for pipe in (out, err, fenced):
        os.close(pipe[1])
    return Cell(pid=pid, stdout=out[0], stderr=err[0], fenced=fenced[0], folder=folder)


def _lock(folder: str, fence: Fence) -> None:
    os.chdir(folder)
    namespaces.die_with_parent()
    if fence.alone or os.geteuid() == 0:
        namespaces.drop_privileges()
    for limit, value in (
        (resource.RLIMIT_CPU, fence.cpu_s),
        (resource.RLIMIT_AS, fence.memory_bytes),
        (resource.RLIMIT_FSIZE, fence.file_bytes),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (value, value))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a full file is an error, not the end
    if seccomp.supported():
        seccomp.restrict()
    else:
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def _run(program: str, earlier: list[str]) -> NoReturn:
    code = 1
    try:
        random.seed(0)
        # Line by line, so that what was printed before a kill is shown.
        sys.stdout, sys.stderr = (
            os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2)
        )
        main = ModuleType("__main__")
        sys.modules["__main__"] = main
        _replay(earlier, main)
        linecache.cache[_FILE] = (len(program), None, program.splitlines(keepends=True), _FILE)
        exec(compile(program, _FILE, "exec"), main.__dict__)  # noqa: S102 - this is the sandbox
        code = 0
    except SystemExit as end:
        code = _exit_code(end)
    except BaseException as error:  # noqa: BLE001 - whatever it was, its author is told
        _tell(error)
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:  # noqa: BLE001 - the program may have put anything there
                code = code or 1
        os._exit(code & 0xFF)


def _replay(earlier: list[str], main: ModuleType) -> None:
    """Run the programs of the turns before, so that their variables are there; as silent as can be.

    One that raised before raises again, at the same place, and leaves the same variables.
    """
    if not earlier:
        return
    kept = [os.dup(1), os.dup(2)]
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    for program in earlier:
        with suppress(BaseException):  # it was reported in its own turn
            exec(compile(program, _FILE, "exec"), main.__dict__)  # noqa: S102 - as above
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(kept[0], 1)
    os.dup2(kept[1], 2)
    os.closerange(3, _OPEN_FILES)


def _exit_code(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return int(end.code or 0)
    os.write(2, f"{end.code}\n".encode(errors="replace"))
    return 1


def _tell(error: BaseException) -> None:
    """Write the traceback, without the lines of this file."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, trace, limit=-8))
    except BaseException:  # noqa: BLE001 - an exception may be made of anything
        text = f"{type(error).__name__} (it cannot be shown)\n"
    os.write(2, text.encode(errors="replace"))
