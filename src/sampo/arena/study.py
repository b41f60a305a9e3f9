"""The tuning of one method in one environment: its trials, and what was chosen (`tuning.json`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sampo.arena.files import write_text
from sampo.arena.grid import Grid, Part, RunSpec, Tune
from sampo.arena.knobs import Knob, Value, combinations, settings_of
from sampo.arena.search import propose
from sampo.errors import ConfigError


def studies(grid: Grid, folder: Path) -> list[Study]:
    """Return the searches of a grid, one per environment and method with something to turn.

    Args:
        grid: the comparison.
        folder: the arena's.
    """
    if grid.tune is None:
        return []
    return [
        Study(environment=environment, method=method, tune=grid.tune, folder=folder)
        for environment in grid.environments
        for method in grid.methods
        if grid.tune.knobs[method.name]
    ]


@dataclass(kw_only=True)
class Trial:
    """One setting of the knobs."""

    values: dict[str, Value]
    settings: dict[str, Any]
    """What `values` means on the command line."""
    success: float | None = None
    """On the validation tasks at the end, mean over its seeds; None: it failed or is not done."""


@dataclass(kw_only=True, eq=False)
class Study:
    """The search of one method in one environment.

    Args:
        environment: where.
        method: as it is without tuning.
        tune: the grid's.
        folder: the arena's.
    """

    environment: Part
    method: Part
    tune: Tune
    folder: Path
    trials: list[Trial] = field(default_factory=list, init=False)
    chosen: int | None = field(default=None, init=False)
    """The best of the trials; None as long as the search goes on."""

    def __post_init__(self) -> None:
        """Read what is there.

        Raises:
            ConfigError: it was begun with other knobs, seeds or budget.
        """
        if not self._file.is_file():
            return
        said = json.loads(self._file.read_text(encoding="utf-8"))
        if said["search"] != self._search():
            raise ConfigError(
                f"{self._file} was begun with another `tune`. Delete {self._file.parent}, or "
                "choose another --output."
            )
        self.trials = [Trial(**trial) for trial in said["trials"]]
        self.chosen = said["chosen"]

    @property
    def name(self) -> str:
        """Its folder within the arena's, e.g. `sokoban/grpo`."""
        return f"{self.environment.name}/{self.method.name}"

    @property
    def size(self) -> int:
        """How many trials there will be."""
        return int(min(self.tune.trials, combinations(self._knobs)))

    def open_trials(self) -> Iterator[int]:
        """Yield the trials that are to be run, one by one; each is on disk before it is yielded."""
        if self.chosen is not None:
            return
        for number in range(self.size):
            if number == len(self.trials):
                known = [(trial.values, trial.success) for trial in self.trials]
                values = propose(self._knobs, known, self.size)
                self.trials.append(Trial(values=values, settings=settings_of(self._knobs, values)))
                self._write()
            if self.trials[number].success is None:
                yield number

    def runs(self, number: int) -> list[RunSpec]:
        """Return the runs of a trial, one per seed."""
        return [
            RunSpec(
                environment=self.environment,
                method=self._with(self.trials[number].settings),
                seed=seed,
                budget=self.tune.budget,
                trial=number,
            )
            for seed in self.tune.seeds
        ]

    def record(self, number: int, success: float | None) -> None:
        """Keep what a trial came to; None: it failed."""
        self.trials[number].success = success
        self._write()

    def settle(self) -> bool:
        """Choose the best trial, the earliest of equals; false if none ended well.

        A choice stands: trials that failed are not tried again after it.
        """
        if self.chosen is not None:
            return True
        done = [
            (trial.success, -n) for n, trial in enumerate(self.trials) if trial.success is not None
        ]
        if done:
            self.chosen = -max(done)[1]
            self._write()
        return bool(done)

    def tuned(self, run: RunSpec) -> RunSpec:
        """Return a run of the comparison with what was chosen."""
        assert self.chosen is not None, "the search is not done"
        return replace(run, method=self._with(self.trials[self.chosen].settings))

    @property
    def _knobs(self) -> tuple[Knob, ...]:
        return self.tune.knobs[self.method.name]

    @property
    def _file(self) -> Path:
        return self.folder / self.name / "tuning.json"

    def _with(self, settings: Mapping[str, Any]) -> Part:
        return replace(self.method, settings={**(self.method.settings or {}), **settings})

    def _search(self) -> dict[str, Any]:
        """Return what makes this search what it is, as JSON gives it back."""
        search = {
            "trials": self.size,
            "seeds": self.tune.seeds,
            "budget": asdict(self.tune.budget),
            "knobs": [asdict(knob) for knob in self._knobs],
        }
        return json.loads(json.dumps(search))

    def _write(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        state = {
            "search": self._search(),
            "trials": [asdict(trial) for trial in self.trials],
            "chosen": self.chosen,
        }
        write_text(self._file, json.dumps(state, indent=1) + "\n")
