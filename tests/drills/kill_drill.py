"""Kills runs at random moments, continues them, and compares their ends with the unbroken run's.

    OMP_NUM_THREADS=1 PYTHONPATH=tests python tests/drills/kill_drill.py --moments 30 --processes 1

With `--resumed_on` another number of processes the weights agree up to rounding only, so counters
are compared bit for bit and the largest distance of a weight is told.

Every third moment lies in a rollout, an update, a save. A moment is an update and a delay after the
phase has begun, uniform over the time that the phase took in the unbroken run; then all processes
of the run get SIGKILL, or with `--signal` another one, to which they answer with a checkpoint and
an end. One line per moment says in which phase the signal fell; the last one sums up. It is used by
test_kills, and must be a program of its own, because it forks.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from drills.struck_run import UPDATES, Board, fork
from sampo.checkpoint import latest_checkpoint, load_checkpoint
from tiny import save_tiny_policy

STRUCK = ("rollout", "update", "save")
_LIMIT_S = 240.0
"""Longest time of one run."""
_TOO_LONG = 124


@dataclass
class Drill:
    """Makes the runs of a drill and compares them."""

    root: Path
    processes: int
    resumed_on: int
    signal: signal.Signals = signal.SIGKILL
    policy: str = ""
    durations: dict[tuple[str, int], float] | None = None
    expected: list[dict[str, Any]] | None = None

    def prepare(self) -> None:
        """Make the policy and the unbroken run."""
        self.policy = save_tiny_policy(self.root / "policy")
        self.expected = self._finish(self.root / "unbroken", None, self.processes)
        spans = torch.load(self.root / "unbroken" / "end_0.pt", weights_only=False)["spans"]
        self.durations = {(phase, update): seconds for phase, update, seconds in spans}

    def strike(self, number: int, rng: random.Random) -> dict[str, Any]:
        """Kill a run at a random moment and continue it; return what happened."""
        assert self.durations is not None and self.expected is not None
        folder = self.root / f"moment_{number:03d}"
        phase, update = STRUCK[number % 3], rng.randrange(1, UPDATES)
        delay = rng.uniform(0.0, self.durations[phase, update])
        boards = [Board() for _ in range(self.processes)]
        pids = fork(self.policy, folder, boards, port=free_port())
        fell = _strike(pids, boards[0], (phase, update), delay, self.signal)
        done = load_checkpoint(latest_checkpoint(folder))["sampo"]["update_step"]
        for file in folder.glob("*/checkpoints/*.ckpt"):
            load_checkpoint(file)  # whatever is there is whole
        ended = self._finish(folder, "last", self.resumed_on)
        moved = self.resumed_on != self.processes
        different = [
            name
            for mine, wanted in zip(ended, self.expected, strict=not moved)
            for name in (["counters"] if moved else wanted)
            if not _same(*_comparable(name, mine[name], wanted[name], done))
        ]
        shutil.rmtree(folder)
        told = {"aimed": phase, "fell": fell, "update": update, "done": done, "differ": different}
        if moved:
            told["apart"] = _distance(ended[0]["weights"], self.expected[0]["weights"])
        return told

    def _finish(self, folder: Path, ckpt_path: str | None, processes: int) -> list[dict[str, Any]]:
        """Run to the end; return what every rank ended with."""
        boards = [Board() for _ in range(processes)]
        pids = fork(self.policy, folder, boards, ckpt_path, port=free_port())
        for rank, pid in enumerate(pids):
            if code := _wait(pid, _LIMIT_S):
                error = folder / f"error_{rank}.txt"
                said = error.read_text() if error.exists() else ""
                log = (folder / f"log_{rank}.txt").read_text(errors="replace")[-2000:]
                sys.exit(f"rank {rank} of {folder.name} ended with {code}: {said}\n{log}")
        return [
            torch.load(folder / f"end_{rank}.pt", weights_only=False)["result"]
            for rank in range(processes)
        ]


def _strike(
    pids: list[int], board: Board, moment: tuple[str, int], delay: float, number: signal.Signals
) -> str:
    """Signal processes `delay` seconds after a moment; return the phase in which it fell."""
    until = time.monotonic() + _LIMIT_S
    while board.read() != moment and board.read()[1] <= moment[1]:
        if time.monotonic() > until or os.waitpid(pids[0], os.WNOHANG)[0]:
            sys.exit(f"the run never came to {moment}")
        time.sleep(0.0001)
    time.sleep(delay)
    for pid in pids:
        os.kill(pid, number)
    fell = board.read()[0]
    if any(_wait(pid, _LIMIT_S) == _TOO_LONG for pid in pids):
        sys.exit(f"a process did not end after {number.name}")
    return fell


def _wait(pid: int, limit_s: float) -> int:
    """Wait for a process; return its exit code, or `_TOO_LONG` after killing it."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return _TOO_LONG


def _comparable(name: str, mine: Any, wanted: Any, done: int) -> tuple[Any, Any]:
    """Return both as they must agree: a resumed diary begins after the checkpoint."""
    if name != "diary":
        return mine, wanted
    return mine, {update: page for update, page in wanted.items() if update > done}


def _same(one: Any, other: Any) -> bool:
    """Whether two nested results agree in every bit."""
    if isinstance(other, torch.Tensor):
        return bool(torch.equal(one, other))
    if isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in other)
    if isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other) or (one != one and other != other)  # or both are NaN


def _distance(weights: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> float:
    """Return the largest distance between two weights of the same name."""
    return max(float((weights[name] - wanted[name]).abs().max()) for name in wanted)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main() -> None:
    """Run the drill; exit with 1 if any end differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--moments", type=int, default=30)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--resumed_on", type=int, help="processes; default: as many")
    parser.add_argument("--signal", choices=("KILL", "INT", "TERM"), default="KILL")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rng, fell, equal = random.Random(options.seed), Counter[str](), 0
    with tempfile.TemporaryDirectory() as folder:
        resumed_on = options.resumed_on or options.processes
        number = signal.Signals[f"SIG{options.signal}"]
        drill = Drill(Path(folder), options.processes, resumed_on, number)
        drill.prepare()
        for number in range(options.moments):
            result = drill.strike(number, rng)
            fell[result["fell"]] += 1
            equal += not result["differ"]
            sys.stdout.write(f"{number} {result}\n")
            sys.stdout.flush()
    sys.stdout.write(
        f"{options.moments} times SIG{options.signal} to {drill.processes} process(es), resumed on "
        f"{drill.resumed_on}: {dict(fell)}; {equal} resumed and ended as expected\n"
    )
    sys.exit(equal != options.moments)


if __name__ == "__main__":
    main()
