"""`sampo arena`: what the command line makes of it. Imports no torch, so it starts at once."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.live import Live
from rich.table import Table

from sampo.arena.grid import Grid
from sampo.arena.grid_file import read_grid
from sampo.arena.launchers import LAUNCHERS, make_launcher
from sampo.arena.outputs import write_report
from sampo.arena.report import make_report
from sampo.arena.runner import Progress, Runner
from sampo.arena.search import load_optuna
from sampo.plain_commands import PlainParser, fail, in_one_sentence

_MARKS: dict[str, str] = {
    "waiting": "·",
    "running": "▶",
    "testing": "▷",
    "done": "✓",
    "failed": "✗",
}


def main(args: Sequence[str]) -> None:
    """Run a grid as far as it is not done, and write its report.

    Args:
        args: what follows `arena` on the command line.
    """
    options = _parser().parse_args(args)
    try:
        with in_one_sentence():
            grid = read_grid(options.config)
            folder = Path(options.output) if options.output else Path("runs") / "arena" / grid.name
            folder.mkdir(parents=True, exist_ok=True)
            errors = {} if options.report_only else _run(grid, folder, options)
            report = make_report(grid, folder)
            page = write_report(report, folder)
    except KeyboardInterrupt:
        fail("stopped. The same command goes on with what is not done.", code=130)
    done = f"{len(report.results)} of {len(grid.runs())} runs"
    sys.stdout.write(f"{done}: {page}, arena.json and arena.csv beside it.\n")
    if errors:
        for name, words in errors.items():
            sys.stderr.write(f"{name} failed: {words}\n")
        fail(f"{len(errors)} runs failed; the same command tries them again.")


def _run(grid: Grid, folder: Path, options: Namespace) -> dict[str, str]:
    """Run what is not done under a live table; return the last words of what failed."""
    console = Console(stderr=True)
    if grid.tune is not None:
        load_optuna()  # missing, it should be missed before the first trial has run
    launcher = make_launcher(options.launcher, options.resources, folder, options.jobs)
    runner = Runner(grid=grid, folder=folder, jobs=options.jobs, launcher=launcher)
    with Live(progress_table(grid, runner.progress), console=console, transient=False) as live:
        runner.changed = lambda progress: live.update(progress_table(grid, progress))
        return runner.run().errors


def progress_table(grid: Grid, progress: Progress) -> Table:
    """Return methods x environments, a mark per seed."""
    states = {run.name: progress.states[run.name] for run in grid.runs()}
    counts = Counter[str](states.values())
    said = ", ".join(f"{counts[state]} {state}" for state in _MARKS if counts[state])
    table = Table(title=f"{grid.name}: {said}", title_justify="left", box=None)
    table.add_column("method")
    for environment in grid.environments:
        table.add_column(environment.name)
    for method in grid.methods:
        cells: list[str] = []
        for place in grid.environments:
            name = f"{place.name}/{method.name}"
            marks = " ".join(_MARKS[states[f"{name}/seed_{seed}"]] for seed in grid.seeds)
            done, trials = progress.trials.get(name, (0, 0))
            cells.append(f"{marks}  (trial {done + 1} of {trials})" if trials else marks)
        table.add_row(method.name, *cells)
    return table


def _resources(text: str) -> dict[str, Any]:
    """Read what a run asks of an engine, e.g. `num_gpus: 1`."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = None
    if not isinstance(value, dict):
        raise ArgumentTypeError(f"must be settings like 'num_gpus: 1', got {text!r}")
    return value


def _parser() -> PlainParser:
    parser = PlainParser(
        prog="sampo arena",
        arguments="--config FILE [--jobs N]",
        description="Compare methods over environments and seeds: run the grid of a config, go on "
        "where it was stopped, and write a report.",
    )
    parser.add_argument("--config", required=True, metavar="FILE", help="a grid, or a shipped one")
    parser.add_argument("--output", metavar="FOLDER", help="default: runs/arena/NAME")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at a time (1)")
    parser.add_argument(
        "--launcher",
        choices=LAUNCHERS,
        default="local",
        help="who makes the runs, --jobs at a time (local: this machine)",
    )
    parser.add_argument(
        "--resources",
        type=_resources,
        default={},
        metavar="YAML",
        help="what a run asks of Ray ('num_gpus: 1') or Slurm ('{gpus_per_node: 1}')",
    )
    parser.add_argument(
        "--report-only", action="store_true", help="run nothing, report on what is there"
    )
    return parser
