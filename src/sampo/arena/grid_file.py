"""Reads a grid from its YAML file, strictly."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from sampo.arena.grid import Budget, Grid, Part, Tune
from sampo.arena.knobs import Knob, read_knobs
from sampo.errors import ConfigError, did_you_mean
from sampo.resources import find_config


def read_grid(source: str | Path) -> Grid:
    """Read the grid of a file, or of a shipped config by its name.

    Raises:
        ConfigError: there is no such file, or it says something that a grid has no use for.
    """
    path = find_config(source)
    known = {field.name for field in fields(Grid)} - {"name"}
    values = _mapping(_yaml(path), f"{path}", known)
    for name in ("environments", "methods", "seeds", "budget"):
        if not values.get(name):
            raise ConfigError(f"{path}: a grid needs `{name}`.")
    methods = _parts(values["methods"], f"{path}: methods")
    seeds = _seeds(values["seeds"], f"{path}: seeds")
    budget = _budget(values["budget"], f"{path}: budget")
    grid = Grid(
        name=path.stem,
        environments=_parts(values["environments"], f"{path}: environments"),
        methods=methods,
        seeds=seeds,
        budget=budget,
        common=_part("common", values.get("common"), f"{path}: common"),
        evaluate_every=_positive(values.get("evaluate_every", 10), f"{path}: evaluate_every"),
        test=bool(values.get("test", True)),
        tune=_tune(values.get("tune"), methods, seeds, budget, f"{path}: tune"),
    )
    if grid.tune and not grid.test:
        raise ConfigError(
            f"{path}: `tune` chooses by the validation tasks, so the comparison must be judged by "
            "the test tasks; take `test: false` out."
        )
    return grid


def _yaml(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}") from error


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


def _tune(
    value: Any, methods: tuple[Part, ...], seeds: tuple[int, ...], budget: Budget, where: str
) -> Tune | None:
    """Read `{trials:, seeds:, budget:, ranges:}`; None: nothing is tuned."""
    if value is None:
        return None
    entry = _mapping(value, where, {"trials", "seeds", "budget", "ranges"})
    for name in ("trials", "seeds", "ranges"):
        if not entry.get(name):
            raise ConfigError(f"{where} needs `{name}`.")
    own = _seeds(entry["seeds"], f"{where}.seeds")
    if shared := sorted(set(own) & set(seeds)):
        raise ConfigError(f"{where}.seeds: {shared} are also seeds of the comparison.")
    return Tune(
        trials=_positive(entry["trials"], f"{where}.trials"),
        seeds=own,
        budget=_budget(entry["budget"], f"{where}.budget") if "budget" in entry else budget,
        knobs=_ranges(entry["ranges"], methods, f"{where}.ranges"),
    )


def _ranges(value: Any, methods: tuple[Part, ...], where: str) -> dict[str, tuple[Knob, ...]]:
    """Read the knobs of every method, from the grid itself or from the config that it names."""
    if isinstance(value, str):
        where = str(find_config(value))
        value = _yaml(Path(where))
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must hold the ranges of each method, got {value!r}.")
    knobs: dict[str, tuple[Knob, ...]] = {}
    for method in methods:
        if method.name not in value:
            hint = did_you_mean(method.name, list(value)) or ""
            raise ConfigError(
                f"{where} has no ranges for the method {method.name!r} ({{}} leaves it as it is)."
                f"{hint}"
            )
        knobs[method.name] = read_knobs(value[method.name], f"{where}: {method.name}")
    return knobs


def _seeds(value: Any, where: str) -> tuple[int, ...]:
    seeds = [value] if isinstance(value, int) else value
    if not isinstance(seeds, list) or not all(type(seed) is int and seed >= 0 for seed in seeds):
        raise ConfigError(f"{where} must be a list of whole numbers, got {value!r}.")
    if len(set(seeds)) < len(seeds):
        raise ConfigError(f"{where}: a seed stands twice in {seeds}.")
    return tuple(seeds)


def _budget(value: Any, where: str) -> Budget:
    given = _mapping(value, where, {field.name for field in fields(Budget)})
    if len(given) != 1:
        raise ConfigError(f"{where} is one of updates, episodes and tokens, got {given}.")
    ((name, amount),) = given.items()
    return Budget(**{name: _positive(amount, f"{where}.{name}")})


def _positive(value: Any, where: str) -> int:
    if type(value) is not int or value < 1:
        raise ConfigError(f"{where} must be a whole number above 0, got {value!r}.")
    return value
