"""Runs a grid: what is done is not done again, what was stopped goes on, what fails is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Literal

from sampo.arena.commands import fit_command, last_checkpoint, test_command
from sampo.arena.grid import Grid, RunSpec
from sampo.arena.launchers import Launcher, LocalLauncher
from sampo.arena.results import read_run
from sampo.arena.study import Study, studies
from sampo.errors import ConfigError

State = Literal["waiting", "running", "testing", "done", "failed"]
_DONE = "done.json"


@dataclass(kw_only=True)
class Progress:
    """The state of every run; threads write it, a table reads it."""

    states: dict[str, State]
    """By the run's name."""
    trials: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of each search that goes on (e.g. `sokoban/grpo`): trials done, and all of them."""
    errors: dict[str, str] = field(default_factory=dict)
    """Last words of the runs that failed."""


@dataclass(kw_only=True, eq=False)
class Runner:
    """Runs the grid's runs, several at a time; first its searches, if there are any.

    Args:
        grid: the comparison.
        folder: the arena's; one folder per run in it.
        jobs: runs at a time.
        launcher: who makes them.
        changed: told the progress whenever it changed.
    """

    grid: Grid
    folder: Path
    jobs: int = 1
    launcher: Launcher = field(default_factory=LocalLauncher)
    changed: Callable[[Progress], None] = lambda _: None
    progress: Progress = field(init=False)
    _studies: list[Study] = field(init=False)
    _stopped: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Look at what is there."""
        if self.jobs < 1:
            raise ConfigError(f"--jobs must be at least 1, got {self.jobs}.")
        self._studies = studies(self.grid, self.folder)
        self.progress = Progress(
            states={
                run.name: "done" if is_done(self.folder / run.name) else "waiting"
                for run in self.grid.runs()
            },
            trials={study.name: (0, study.size) for study in self._studies},
        )

    def run(self) -> Progress:
        """Make the runs that are not done; returns when all have ended, well or badly."""
        pool = ThreadPoolExecutor(self.jobs)
        # Searches go on side by side; each waits for its own trials and takes no place itself.
        searches = ThreadPoolExecutor(max(1, len(self._studies)))
        try:
            going = [searches.submit(self._search, study, pool) for study in self._studies]
            for search in as_completed(going):
                search.result()
            runs = self._tuned_runs()
            for run in runs:
                self._check_same(run)
            todo = [run for run in runs if self.progress.states[run.name] != "done"]
            for future in as_completed([pool.submit(self._run, run) for run in todo]):
                future.result()
        except BaseException:
            self._stop()
            raise
        finally:
            searches.shutdown()
            pool.shutdown()
        return self.progress

    def _search(self, study: Study, pool: ThreadPoolExecutor) -> None:
        """Make the trials of a search that are not done, and choose."""
        for number in study.open_trials():
            self.progress.trials[study.name] = (number, study.size)
            runs = study.runs(number)
            for run in runs:
                self._check_same(run)
            todo = [run for run in runs if not is_done(self.folder / run.name)]
            for future in [pool.submit(self._run, run) for run in todo]:
                future.result()
            if self._stopped:
                return
            study.record(number, self._success(runs))
        self.progress.trials.pop(study.name)
        if not study.settle():
            words = f"no trial of its search ended well, see {self.folder / study.name}"
            self.progress.errors[study.name] = words

    def _success(self, runs: list[RunSpec]) -> float | None:
        """Return what the validation tasks say of a trial; None if one of its runs failed."""
        done = [run for run in runs if is_done(self.folder / run.name)]
        results = [read_run(run, self.folder / run.name) for run in done]
        ends = [result.end for result in results if result is not None]
        return fmean(ends) if len(ends) == len(runs) else None

    def _tuned_runs(self) -> list[RunSpec]:
        """Return the runs of the comparison with what was chosen for them."""
        by_name = {study.name: study for study in self._studies}
        runs: list[RunSpec] = []
        for run in self.grid.runs():
            study = by_name.get(f"{run.environment.name}/{run.method.name}")
            if study is None:
                runs.append(run)
            elif study.chosen is not None:
                runs.append(study.tuned(run))
            else:
                self._set(run, "failed")
        return runs

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
        steps: list[tuple[State, Callable[[], list[str]]]] = [
            ("running", lambda: fit_command(self.grid, run, folder))
        ]
        if self.grid.test and run.trial is None:  # a search never sees the test tasks
            steps.append(("testing", lambda: test_command(folder)))
        for state, command in steps:
            if self._stopped:
                return
            self._set(run, state)
            code = self.launcher.execute(command(), folder, f"{state}.log")
            if self._stopped:
                return
            if code:
                self.progress.errors[run.name] = last_words(folder / f"{state}.log")
                self._set(run, "failed")
                return
        (folder / _DONE).write_text("{}\n")
        self._set(run, "done")

    def _stop(self) -> None:
        """End what is running; it can go on from its last checkpoint, which is whole."""
        self._stopped = True
        self.launcher.stop()

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
