"""How the command line ends where it runs in several processes: together, and with one sentence."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from typing import NoReturn

from lightning.pytorch.utilities import rank_zero_only

from sampo.errors import RankError
from sampo.plain_commands import fail
from sampo.world import is_shared

_GRACE_S = 5.0
"""Time for the first rank to fail the same way, or for the launcher to end all others."""
_ORPHAN_S = 10.0
"""Time to finish in, for a process whose launcher has just finished."""
_LAUNCHER = "lightning.fabric.strategies.launchers.subprocess_script"


def fail_as_rank(sentence: str, error: BaseException) -> NoReturn:
    """Say what went wrong and exit; of ranks that failed alike, the first one says it."""
    rank = rank_zero_only.rank or 0
    if rank == 0 or isinstance(error, RankError):
        fail(sentence)
    launcher = os.getppid()
    time.sleep(_GRACE_S)
    if is_shared(error) or os.getppid() != launcher:
        sys.exit(1)
    fail(f"[rank {rank}] {sentence}")


def end_with_launcher() -> None:
    """End this process when the one that started it is gone, however that came.

    A launcher that is killed takes none of its processes with it: they would wait for the first
    rank in the next exchange, on GPUs for as long as the strategy's timeout.
    """
    logging.getLogger(_LAUNCHER).addFilter(_say_what_to_do)
    if "LOCAL_RANK" in os.environ:
        threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(launcher: int) -> None:
    while os.getppid() == launcher:
        time.sleep(1.0)
    time.sleep(_ORPHAN_S)
    sys.stderr.write(
        f"sampo: error: [rank {rank_zero_only.rank}] The process that started this one is gone, so "
        "it ends, too. Go on from the last checkpoint with --ckpt_path last.\n"
    )
    os._exit(1)


def _say_what_to_do(record: logging.LogRecord) -> bool:
    """Reword what Lightning says when it ends a run of which a process has died."""
    text = record.getMessage()
    if "Child process with PID" in text:
        died = text.split(" Forcefully")[0].removesuffix(".")
        record.msg, record.args = (
            f"sampo: error: {died}, so the whole run ends. Go on from the last checkpoint with "
            "--ckpt_path last.",
            (),
        )
    return True
