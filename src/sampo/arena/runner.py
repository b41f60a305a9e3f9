"""Runs a grid: what is done is not done again, what was stopped goes on, what fails is told."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Literal

from sampo.arena.commands import fit_command, last_checkpoint, test_command
from sampo.arena.grid import Grid, RunSpec
from sampo.errors import ConfigError

State = Literal["waiting", "running", "testing", "done", "failed"]
_DONE = "done.json"


@dataclass(kw_only=True)
class Progress:
    """The state of every run; threads write it, a table reads it."""

    states: dict[str, State]
    """By the run's name."""
    errors: dict[str, str] = field(default_factory=dict)
    """Last words of the runs that failed."""


@dataclass(kw_only=True, eq=False)
class Runner:
    """Runs the grid's runs as processes, several at a time.

    Args:
        grid: the comparison.
        folder: the arena's; one folder per run in it.
        jobs: runs at a time.
        changed: told the progress whenever it changed.
    """

    grid: Grid
    folder: Path
    jobs: int = 1
    changed: Callable[[Progress], None] = lambda _: None
    progress: Progress = field(init=False)
    _processes: set[subprocess.Popen[bytes]] = field(default_factory=set, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)
    _stopped: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Look at what is there."""
        if self.jobs < 1:
            raise ConfigError(f"--jobs must be at least 1, got {self.jobs}.")
        self.progress = Progress(
            states={
                run.name: "done" if is_done(self.folder / run.name) else "waiting"
                for run in self.grid.runs()
            }
        )

    def run(self) -> Progress:
        """Make the runs that are not done; returns when all have ended, well or badly."""
        for run in self.grid.runs():
            self._check_same(run)
        todo = [run for run in self.grid.runs() if self.progress.states[run.name] != "done"]
        pool = ThreadPoolExecutor(self.jobs)
        try:
            futures = [pool.submit(self._run, run) for run in todo]
            for future in as_completed(futures):
                future.result()
        except BaseException:
            self._stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        return self.progress

    def _check_same(self, run: RunSpec) -> None:
        """Refuse to go on with a run that was begun with other settings."""
        folder = self.folder / run.name
        said, now = folder / "command.json", self._settings(run)
        begun = is_done(folder) or last_checkpoint(folder) is not None
        if begun and said.is_file() and json.loads(said.read_text()) != now:
            raise ConfigError(
                f"{folder} was begun with other settings (command.json). Delete it, or choose "
                "another --output."
            )
        folder.mkdir(parents=True, exist_ok=True)
        said.write_text(json.dumps(now, indent=1) + "\n")

    def _settings(self, run: RunSpec) -> list[str]:
        """Return what makes a run what it is: its command, without what depends on the machine."""
        return [part for part in fit_command(self.grid, run, Path())[1:] if "ckpt_path" not in part]

    def _run(self, run: RunSpec) -> None:
        folder = self.folder / run.name
        self._set(run, "running")
        steps: list[tuple[State, Callable[[], list[str]]]] = [
            ("running", lambda: fit_command(self.grid, run, folder))
        ]
        if self.grid.test:
            steps.append(("testing", lambda: test_command(folder)))
        for state, command in steps:
            self._set(run, state)
            code = self._execute(command(), folder / f"{state}.log")
            if self._stopped:
                return
            if code:
                self.progress.errors[run.name] = last_words(folder / f"{state}.log")
                self._set(run, "failed")
                return
        (folder / _DONE).write_text("{}\n")
        self._set(run, "done")

    def _execute(self, command: list[str], log: Path) -> int:
        """Run a command to its end; what it says goes to a file."""
        with log.open("ab") as output:
            with self._lock:
                if self._stopped:
                    return 1
                process = subprocess.Popen(
                    command,
                    stdout=output,
                    stderr=output,
                    stdin=subprocess.DEVNULL,
                    env=_env(),
                    start_new_session=True,  # Ctrl-C reaches the arena alone, which ends it
                )
                self._processes.add(process)
            try:
                return process.wait()
            finally:
                with self._lock:
                    self._processes.discard(process)

    def _stop(self) -> None:
        """End what is running; it can go on from its last checkpoint, which is whole."""
        with self._lock:
            self._stopped = True
            processes = list(self._processes)
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()

    def _set(self, run: RunSpec, state: State) -> None:
        self.progress.states[run.name] = state
        self.changed(self.progress)


def is_done(folder: Path) -> bool:
    """Return whether a run has ended well."""
    return (folder / _DONE).is_file()


def last_words(log: Path) -> str:
    """Return the last line of a log that says something."""
    text = log.read_bytes()[-4096:].decode(errors="replace")
    lines = [line.strip() for line in text.replace("\r", "\n").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("sampo: error:")]
    return (errors or lines or ["it said nothing"])[-1]


def _env() -> Mapping[str, str]:
    """Return the environment of a run: no colours, and one torch thread unless asked otherwise."""
    return {"OMP_NUM_THREADS": "1", **os.environ, "NO_COLOR": "1", "TERM": "dumb"}
