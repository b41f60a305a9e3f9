"""What is compared: methods x environments x seeds under one budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from sampo.arena.knobs import Knob


@dataclass(frozen=True, kw_only=True)
class Part:
    """A method or an environment: configs and single settings, as on the command line."""

    name: str
    configs: tuple[str, ...] = ()
    """Names of shipped configs, or files."""
    settings: Mapping[str, Any] | None = None
    """E.g. `model.learning_rate: 1e-4`."""

    def arguments(self) -> list[str]:
        """Return the options of `sampo fit`."""
        options = [part for config in self.configs for part in ("--config", config)]
        for key, value in (self.settings or {}).items():
            text = (
                value if isinstance(value, str) else yaml.safe_dump(value, default_flow_style=True)
            )
            options.append(f"--{key}={text.removesuffix(chr(10)).removesuffix('...').strip()}")
        return options


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How long every run is; exactly one is given."""

    updates: int | None = None
    episodes: int | None = None
    """Played ones, dropped and failed ones included."""
    tokens: int | None = None
    """Sampled ones."""


@dataclass(frozen=True, kw_only=True)
class Tune:
    """A search before the comparison: per environment and method, judged on validation tasks."""

    trials: int
    """Of every method; fewer only where its knobs have fewer combinations."""
    seeds: tuple[int, ...]
    """Of every trial; none of the comparison's."""
    budget: Budget
    """Of every run of a trial."""
    knobs: Mapping[str, tuple[Knob, ...]]
    """What is searched, by method."""


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """One run: of the comparison, or of a trial of its tuning."""

    environment: Part
    method: Part
    seed: int
    budget: Budget
    trial: int | None = None

    @property
    def name(self) -> str:
        """Its folder within the arena's: `sokoban/grpo/seed_0`, `sokoban/grpo/trial_3/seed_100`."""
        trial = "" if self.trial is None else f"trial_{self.trial}/"
        return f"{self.environment.name}/{self.method.name}/{trial}seed_{self.seed}"


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A comparison."""

    name: str
    environments: tuple[Part, ...]
    methods: tuple[Part, ...]
    seeds: tuple[int, ...]
    budget: Budget
    common: Part = Part(name="common")
    """For every run: after the environment, before the method."""
    evaluate_every: int = 10
    """Updates between two evaluations on the validation tasks."""
    test: bool = True
    """Whether the last checkpoint plays the test tasks."""
    tune: Tune | None = None

    def runs(self) -> list[RunSpec]:
        """Return all runs of the comparison, as they are before any tuning.

        They come seed by seed, so that what is done first covers everything once.
        """
        return [
            RunSpec(environment=environment, method=method, seed=seed, budget=self.budget)
            for seed in self.seeds
            for environment in self.environments
            for method in self.methods
        ]
