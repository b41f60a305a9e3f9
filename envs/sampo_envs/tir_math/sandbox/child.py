"""A helper process that answers JSON lines, under a deadline.

What it does may hang, eat memory or crash: it is killed then, and a fresh one is started for the
next question. Used by the sandbox and by the grader.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

_TAIL = 400
_ENDED = "it ended"
_CHUNK = 65536


class ChildFailure(Exception):  # noqa: N818 - what happened to a child, not to us
    """The child gave no answer; it is dead now. The message says why."""


class LineChild:
    """A child process, started when first asked.

    Args:
        command: What to start. It first writes one line, when it is ready, then one line per
            question.
        start_timeout_s: Seconds until it must be ready.
        environ: All of its environment variables.
    """

    def __init__(
        self, command: Sequence[str], *, start_timeout_s: float, environ: Mapping[str, str]
    ) -> None:
        self._command = list(command)
        self._start_timeout_s = start_timeout_s
        self._environ = dict(environ)
        self._process: subprocess.Popen[bytes] | None = None
        self._words: IO[bytes] | None = None
        """What it prints besides its answers."""
        self._lock = threading.Lock()

    def start(self) -> None:
        """Have it running and ready.

        Raises:
            ChildFailure: It did not come up.
        """
        if self._process is not None:
            return
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words,
                env=self._environ,
            )
        except OSError as error:
            self.close()
            raise ChildFailure(f"{self._command[0]} could not be started: {error}") from error
        self._read(self._process, self._start_timeout_s)

    def ask(self, question: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Send a question and return the answer.

        Raises:
            ChildFailure: None came within `timeout_s`, or the child ended.
        """
        with self._lock:
            self.start()
            process = self._process
            assert process is not None and process.stdin is not None
            try:
                process.stdin.write(json.dumps(question).encode() + b"\n")
                process.stdin.flush()
            except OSError as error:
                raise self._lost(_ENDED) from error
            return self._read(process, timeout_s)

    def close(self) -> None:
        """Kill the process; a later question starts another one."""
        process, self._process = self._process, None
        words, self._words = self._words, None
        if words is not None:
            words.close()
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                assert stream is not None
                with suppress(OSError):  # what was not sent is not wanted any more
                    stream.close()

    def _read(self, process: subprocess.Popen[bytes], timeout_s: float) -> dict[str, Any]:
        assert process.stdout is not None
        fd, line, until = process.stdout.fileno(), bytearray(), time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(fd, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(until - time.monotonic(), 0.0)):
                    raise self._lost(f"no answer within {timeout_s:g} s")
                chunk = os.read(fd, _CHUNK)
                if not chunk:
                    raise self._lost(_ENDED)
                line += chunk
        return json.loads(line)

    def _lost(self, reason: str) -> ChildFailure:
        """Kill the child and return the failure that tells its last words."""
        process, words = self._process, self._words
        assert process is not None and words is not None
        if reason != _ENDED:
            process.kill()
        process.wait()
        code = f", exit code {process.returncode}" if reason == _ENDED else ""
        words.seek(0)
        text = " | ".join(words.read().decode(errors="replace").split("\n")).strip(" |")
        said = f"; it last printed: {text[-_TAIL:]}" if text else ""
        self.close()
        return ChildFailure(f"{reason}{code}{said}")
