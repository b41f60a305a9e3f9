"""The program of an environment worker process: `python -m sampo.envs.worker FD FD`.

Started by `sampo.envs.process.WorkerProcess`, never imported. It unpickles the environment once,
then answers batches of requests one by one, each as soon as it is done, so that the parent always
knows which request is being worked on. It keeps no deadlines: a worker that is late is killed.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from multiprocessing.connection import Connection

from sampo.envs.base import TextEnv
from sampo.envs.protocol import EnvFault, EnvRequest, WorkerStart
from sampo.envs.slots import EnvSlots, one_line


def main(connection_fd: int, lifeline_fd: int) -> None:
    """Serve one parent until it hangs up.

    Args:
        connection_fd: Socket for requests and answers.
        lifeline_fd: Read end of a pipe on which nothing is ever written; it ends with the parent.
    """
    for fd in (connection_fd, lifeline_fd):
        os.set_inheritable(fd, False)
    _die_with_parent(lifeline_fd)
    connection = Connection(connection_fd)
    slots = _start(connection)
    if slots is None:
        return
    while True:
        try:
            requests: list[EnvRequest] = connection.recv()
        except EOFError:
            break
        if not requests:
            break
        for request in requests:
            connection.send_bytes(_answer(slots, request))
    slots.close()


def _start(connection: Connection) -> EnvSlots | None:
    start: WorkerStart = connection.recv()
    sys.path[:] = start.sys_path
    if start.pythonpath is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = start.pythonpath
    try:
        prototype = pickle.loads(start.prototype)  # noqa: S301 - from our own parent
    except Exception as error:  # noqa: BLE001
        # Broad on purpose: unpickling imports and runs the environment's own code.
        fault = EnvFault(message=f"unpickling it raised {one_line(error)}")
        connection.send_bytes(pickle.dumps(fault))
        return None
    assert isinstance(prototype, TextEnv)
    connection.send_bytes(pickle.dumps(None))
    return EnvSlots(prototype, with_expert=start.with_expert)


def _answer(slots: EnvSlots, request: EnvRequest) -> bytes:
    answer = slots.run(request)
    try:
        return pickle.dumps(answer)
    except Exception as error:  # noqa: BLE001
        # Broad on purpose: pickling calls the methods of whatever object the state key is.
        slots.drop(request.copy_id)
        message = f"{request.kind} returned what cannot be pickled ({one_line(error)})"
        return pickle.dumps(EnvFault(message=message))


def _die_with_parent(lifeline_fd: int) -> None:
    """Have this process group killed when the parent ends, even by SIGKILL.

    On Linux the kernel does it, so that it also works while the environment hangs in C code.
    """
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(lifeline_fd, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline_fd, fcntl.F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(lifeline_fd, fcntl.F_GETFL)
        fcntl.fcntl(lifeline_fd, fcntl.F_SETFL, flags | os.O_ASYNC)
    # Elsewhere, and for a parent that ended before the lines above: wait for the end of the pipe.
    threading.Thread(target=_kill_at_end_of, args=(lifeline_fd,), daemon=True).start()


def _kill_at_end_of(lifeline_fd: int) -> None:
    os.read(lifeline_fd, 1)
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
