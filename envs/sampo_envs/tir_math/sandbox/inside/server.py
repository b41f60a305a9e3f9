"""The fork server: imports the packages once, then forks a child for every program.

It reads one JSON request a line from its input, runs one program at a time, and writes one JSON
answer a line. It ends with its input. No program can reach it: see `cell.py`.
"""

from __future__ import annotations

import builtins
import gc
import importlib
import json
import os
import selectors
import shutil
import signal
import sys
import time
from typing import Any

from . import cell, namespaces

_CHUNK = 65536


def main(settings_json: str) -> None:
    """Serve until the input ends.

    Args:
        settings_json: `fence` (the fields of `cell.Fence`), `wall_s`, `output_bytes`, `preload`
            (names of modules), `warm_up` (code that fills their caches), `seal` (whether to make
            all that is mounted read-only first).
    """
    settings = json.loads(settings_json)
    fence = cell.Fence(**settings["fence"])
    if settings["seal"]:
        namespaces.make_host_read_only(fence.folder)
    if not fence.alone:
        namespaces.hide_memory()
    for name in settings["preload"]:
        importlib.import_module(name)
    exec(settings["warm_up"], {})  # noqa: S102 - from the caller's own code
    builtins.exit = builtins.quit = sys.exit  # without the module `site` there are none
    # What is there now is shared with every child: no collection shall touch, and so copy, it.
    gc.collect()
    gc.freeze()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a package prints is not an answer
    _write(answers, {"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        started = cell.start(request["program"], request["earlier"], fence)
        try:
            answer = _watch(started, fence, settings["wall_s"], settings["output_bytes"])
        finally:
            if started.folder is not None:
                shutil.rmtree(started.folder, ignore_errors=True)
        _write(answers, answer)


def _write(stream: Any, message: dict[str, Any]) -> None:
    stream.write(json.dumps(message) + "\n")
    stream.flush()


def _watch(
    running: cell.Cell, fence: cell.Fence, wall_s: float, output_bytes: int
) -> dict[str, Any]:
    """Wait for the end of a program, or end it; return what became of it."""
    began = time.monotonic()
    texts = {running.stdout: bytearray(), running.stderr: bytearray()}
    exit_fd = os.pidfd_open(running.pid)
    outcome = _follow(exit_fd, texts, began + wall_s, output_bytes)
    if outcome != "finished":
        os.kill(running.pid, signal.SIGKILL)
    _, status, usage = os.wait4(running.pid, 0)
    os.close(exit_fd)
    for fd, text in texts.items():
        while len(text) <= output_bytes and _take(fd, text):
            pass
        os.close(fd)
    cpu_s = usage.ru_utime + usage.ru_stime
    code = os.waitstatus_to_exitcode(status)
    if outcome == "finished":
        outcome = _outcome(code, cpu_s, fence.cpu_s)
    if not os.read(running.fenced, 1):
        outcome = "not_fenced"
    os.close(running.fenced)
    return {
        "outcome": outcome,
        "exit_code": code,
        "stdout": texts[running.stdout][:output_bytes].decode(errors="replace"),
        "stderr": texts[running.stderr][:output_bytes].decode(errors="replace"),
        "wall_s": time.monotonic() - began,
        "cpu_s": cpu_s,
    }


def _follow(exit_fd: int, texts: dict[int, bytearray], until: float, output_bytes: int) -> str:
    """Collect output up to the end of the program, of its time, or of its room; say which."""
    with selectors.DefaultSelector() as selector:
        for fd in (*texts, exit_fd):
            selector.register(fd, selectors.EVENT_READ)
        while True:
            left_s = until - time.monotonic()
            ready = [key.fd for key, _ in selector.select(max(left_s, 0.0))]
            for fd in ready:
                if fd in texts and not _take(fd, texts[fd]):
                    selector.unregister(fd)
            if any(len(text) > output_bytes for text in texts.values()):
                return "output_limit"
            if exit_fd in ready:
                return "finished"
            if left_s <= 0:
                return "timeout"


def _take(fd: int, text: bytearray) -> int:
    """Read once; return the number of bytes, 0 at the end."""
    chunk = os.read(fd, _CHUNK)
    text += chunk
    return len(chunk)


def _outcome(code: int, cpu_s: float, limit_s: int) -> str:
    if code == 0:
        return "finished"
    # The kernel counts ticks for the limit and exact times for the usage: much less, at times, on a
    # busy machine. A program that is killed early hit something else.
    if code == -signal.SIGXCPU or (code == -signal.SIGKILL and cpu_s >= limit_s / 2):
        return "timeout"
    return "error" if code > 0 else "killed"
