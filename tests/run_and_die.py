"""Run by test_resume: trains a little and is killed or interrupted in the middle of a step.

Usage: python run_and_die.py POLICY FOLDER SIGNAL WHERE
where SIGNAL is `KILL` or `INT` and WHERE is `update` (between two optimiser steps of update 5) or
`rollout` (while update 5 is being rolled out).
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from training import make_data, make_module, make_trainer

UPDATE = 5


def main(policy: str, folder: str, name: str, where: str) -> None:
    """Train until the signal comes."""
    number = signal.Signals[f"SIG{name}"]
    module, data = make_module(policy), make_data(policy)

    struck: list[bool] = []

    def strike() -> None:
        if not struck and data.update - (where == "update") == UPDATE:
            struck.append(True)  # a second Ctrl-C would mean: stop at once
            os.kill(os.getpid(), number)

    if where == "update":
        step = module._step

        def dying_step(*args: Any) -> Any:
            result = step(*args)
            strike()
            return result

        module._step = dying_step
    else:
        submit = data.engine.submit

        def dying_submit(requests: Any) -> None:
            submit(requests)
            strike()

        data.engine.submit = dying_submit
    make_trainer(Path(folder), epochs=3).fit(module, datamodule=data)


if __name__ == "__main__":
    main(*sys.argv[1:])
