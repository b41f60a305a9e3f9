"""One worker process, seen from its parent.

Starts it, sends it one batch at a time, reads what it answered, knows the one request that it is
working on, and says when that request is late or has killed it. What to do then is the caller's
decision (`sampo.rollout.workers.EnvPool`, `sampo.envs.check`).
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import IO

from sampo.envs.base import TextEnv
from sampo.envs.protocol import EnvFault, EnvReply, EnvRequest, WorkerStart
from sampo.envs.slots import one_line
from sampo.errors import EnvFailure

Answer = tuple[EnvRequest, EnvReply | EnvFault | None]
"""A request and what came of it (None: a start or a release that went well)."""

_TAIL_BYTES = 4096
_LAST_WORDS = 300
_START = EnvRequest(kind="start")


def worker_start(env: TextEnv, *, with_expert: bool = False) -> WorkerStart:
    """Return the message that starts workers for an environment.

    Raises:
        EnvFailure: The environment cannot be pickled.
    """
    try:
        prototype = pickle.dumps(env)
    except Exception as error:
        # Broad on purpose: pickling calls the environment's own code.
        raise EnvFailure(
            f"{type(env).__name__} cannot be pickled, as worker processes need it: "
            f"{one_line(error)}. Store only settings in __init__ and make the rest in reset."
        ) from error
    return WorkerStart(
        prototype=prototype,
        with_expert=with_expert,
        sys_path=tuple(str(Path(path).absolute()) for path in sys.path),
        pythonpath=os.environ.get("PYTHONPATH"),
    )


class WorkerProcess:
    """A child process that runs copies of an environment.

    The child is the leader of a process group of its own, which is killed as a whole. Its stdin is
    empty; what it and its children print is kept for the message of a crash.

    Args:
        start: What to run; see `worker_start`.
        step_timeout_s: Seconds that a step (or a release) may take.
        reset_timeout_s: Seconds that a reset, and the start of the process, may take.
        environ: Environment variables on top of the parent's.
    """

    def __init__(
        self,
        start: WorkerStart,
        *,
        step_timeout_s: float,
        reset_timeout_s: float,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._limits = {
            "start": reset_timeout_s,
            "reset": reset_timeout_s,
            "step": step_timeout_s,
            "release": step_timeout_s,
        }
        ours, theirs = socket.socketpair()
        # No message may block the parent for longer than any request may take.
        limit = struct.pack("@ll", int(max(step_timeout_s, reset_timeout_s)) + 1, 0)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        lifeline, self._lifeline = Pipe(duplex=False)
        fds = (theirs.fileno(), lifeline.fileno())
        with theirs, lifeline:
            self._process = subprocess.Popen(
                # -P: a worker must not import a module from the working directory by mistake.
                [sys.executable, "-P", "-X", "faulthandler", "-m", "sampo.envs.worker"]
                + [str(fd) for fd in fds],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=fds,
                start_new_session=True,
                env={
                    **os.environ,
                    **(environ or {}),
                    "PYTHONPATH": os.pathsep.join(start.sys_path),
                },
            )
        self.connection = Connection(ours.detach())
        self._tail = bytearray()
        assert self._process.stdout is not None
        self._listener = threading.Thread(
            target=_keep_tail, args=(self._process.stdout, self._tail), daemon=True
        )
        self._listener.start()
        self._inflight: deque[EnvRequest] = deque()
        self._began = 0.0
        self._send([_START], start)

    @property
    def pid(self) -> int:
        """Process id, and id of the process group."""
        return self._process.pid

    @property
    def idle(self) -> bool:
        """Whether everything sent has been answered."""
        return not self._inflight

    @property
    def inflight(self) -> tuple[EnvRequest, ...]:
        """Requests sent and not answered; the first one is being worked on."""
        return tuple(self._inflight)

    @property
    def time_left_s(self) -> float:
        """Seconds until the request that is being worked on is late."""
        if not self._inflight:
            return float("inf")
        return self._began + self._limits[self._inflight[0].kind] - time.monotonic()

    def send(self, requests: list[EnvRequest]) -> None:
        """Send a batch to an idle worker.

        One batch at a time, so that neither side ever waits for the other one to read.
        """
        assert self.idle and requests
        self._send(requests, requests)

    def collect(self) -> tuple[list[Answer], str | None]:
        """Return what has been answered, and why the worker is lost (None: it is not).

        Does not wait. After a loss the process is dead, and `inflight[0]` is the guilty request.
        """
        answers: list[Answer] = []
        try:
            while self._inflight and self.connection.poll():
                payload = self.connection.recv_bytes()
                request = self._inflight.popleft()
                answers.append((request, _loads(payload, request.kind)))
                self._began = time.monotonic()
        except (EOFError, OSError):
            return answers, self._crash_message()
        if self._inflight and self._process.poll() is not None and not self.connection.poll():
            return answers, self._crash_message()
        if self._inflight and self.time_left_s <= 0:
            kind = self._inflight[0].kind
            self.kill()
            return answers, f"{kind} did not return within {self._limits[kind]:g} s"
        return answers, None

    def kill(self) -> None:
        """Kill the process and everything that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self._listener.join(timeout=1.0)
        self.connection.close()
        self._lifeline.close()

    def ask_to_stop(self) -> None:
        """Let an idle worker close its environments and end; follow with `stop`."""
        if self.idle:
            with suppress(OSError):
                self.connection.send([])

    def stop(self, timeout_s: float) -> None:
        """Wait for a worker that was asked to stop, then kill what is left of its group."""
        if self.idle:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)
        self.kill()

    def _send(self, requests: list[EnvRequest], message: object) -> None:
        self._inflight.extend(requests)
        self._began = time.monotonic()
        # A worker that died, or no longer reads, is reported by the next `collect`.
        with suppress(OSError):
            self.connection.send(message)

    def _crash_message(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1.0)
        self.kill()
        code = self._process.returncode
        name = f" ({signal.Signals(-code).name})" if code < 0 else ""
        words = " | ".join(self._tail.decode(errors="replace").split("\n")).strip(" |")
        last = f"; it last printed: {words[-_LAST_WORDS:]}" if words else ""
        return f"{self._inflight[0].kind} crashed the worker process, exit code {code}{name}{last}"


def _loads(payload: bytes, kind: str) -> EnvReply | EnvFault | None:
    try:
        return pickle.loads(payload)  # noqa: S301 - from our own child
    except Exception as error:  # noqa: BLE001
        # Broad on purpose: unpickling calls the methods of whatever object the state key is.
        return EnvFault(message=f"{kind} returned what cannot be unpickled ({one_line(error)})")


def _keep_tail(stream: IO[bytes], tail: bytearray) -> None:
    with stream:
        while chunk := os.read(stream.fileno(), 65536):
            tail += chunk
            del tail[:-_TAIL_BYTES]
