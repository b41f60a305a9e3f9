"""What is compared: methods x environments x seeds, from one YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from sampo.errors import ConfigError, did_you_mean
from sampo.resources import find_config


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
class RunSpec:
    """One run of the grid."""

    environment: Part
    method: Part
    seed: int

    @property
    def name(self) -> str:
        """Its folder within the arena's, e.g. `sokoban/grpo/seed_0`."""
        return f"{self.environment.name}/{self.method.name}/seed_{self.seed}"


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

    def runs(self) -> list[RunSpec]:
        """Return all runs; seed by seed, so that what is done first covers everything once."""
        return [
            RunSpec(environment=environment, method=method, seed=seed)
            for seed in self.seeds
            for environment in self.environments
            for method in self.methods
        ]


def read_grid(source: str | Path) -> Grid:
    """Read the grid of a file, or of a shipped config by its name.

    Raises:
        ConfigError: there is no such file, or it says something that a grid has no use for.
    """
    path = find_config(source)
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    known = {field.name for field in fields(Grid)} - {"name"}
    values = _mapping(raw, f"{path}", known)
    for name in ("environments", "methods", "seeds", "budget"):
        if not values.get(name):
            raise ConfigError(f"{path}: a grid needs `{name}`.")
    return Grid(
        name=path.stem,
        environments=_parts(values["environments"], f"{path}: environments"),
        methods=_parts(values["methods"], f"{path}: methods"),
        seeds=_seeds(values["seeds"], str(path)),
        budget=_budget(values["budget"], str(path)),
        common=_part("common", values.get("common"), f"{path}: common"),
        evaluate_every=_positive(values.get("evaluate_every", 10), f"{path}: evaluate_every"),
        test=bool(values.get("test", True)),
    )


def _mapping(value: Any, where: str, known: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must hold settings, not {type(value).__name__}.")
    for key in value:
        if key not in known:
            names = sorted(known)
            hint = did_you_mean(str(key), names) or f" Known: {', '.join(names)}."
            raise ConfigError(f"{where} has no setting {key!r}.{hint}")
    return value


def _parts(value: Any, where: str) -> tuple[Part, ...]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must name its members, each with configs and set.")
    return tuple(_part(str(name), entry, f"{where}.{name}") for name, entry in value.items())


def _part(name: str, value: Any, where: str) -> Part:
    """Read `{configs: [...], set: {...}}`, or the name of one config."""
    if Path(name).name != name or name.startswith("."):
        raise ConfigError(f"{where}: {name!r} cannot name a folder.")
    if isinstance(value, str):
        value = {"configs": [value]}
    entry = _mapping(value or {}, where, {"configs", "set"})
    configs = entry.get("configs") or []
    configs = tuple([configs] if isinstance(configs, str) else configs)
    for config in configs:
        find_config(config)
    return Part(name=name, configs=configs, settings=entry.get("set") or {})


def _seeds(value: Any, where: str) -> tuple[int, ...]:
    seeds = [value] if isinstance(value, int) else value
    if not isinstance(seeds, list) or not all(type(seed) is int and seed >= 0 for seed in seeds):
        raise ConfigError(f"{where}: seeds must be a list of whole numbers, got {value!r}.")
    if len(set(seeds)) < len(seeds):
        raise ConfigError(f"{where}: a seed stands twice in {seeds}.")
    return tuple(seeds)


def _budget(value: Any, where: str) -> Budget:
    given = _mapping(value, f"{where}: budget", {field.name for field in fields(Budget)})
    if len(given) != 1:
        raise ConfigError(f"{where}: budget is one of updates, episodes and tokens, got {given}.")
    ((name, amount),) = given.items()
    return Budget(**{name: _positive(amount, f"{where}: budget.{name}")})


def _positive(value: Any, where: str) -> int:
    if type(value) is not int or value < 1:
        raise ConfigError(f"{where} must be a whole number above 0, got {value!r}.")
    return value
