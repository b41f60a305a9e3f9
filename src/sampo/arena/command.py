"""`sampo arena`: what the command line makes of it. Imports no torch, so it starts at once."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table

from sampo.arena.grid import Grid, read_grid
from sampo.arena.outputs import write_report
from sampo.arena.report import make_report
from sampo.arena.runner import Progress, Runner
from sampo.errors import SampoError
from sampo.plain_commands import PlainParser, fail

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
        grid = read_grid(options.config)
        folder = Path(options.output) if options.output else Path("runs") / "arena" / grid.name
        folder.mkdir(parents=True, exist_ok=True)
        errors = {} if options.report_only else _run(grid, folder, options.jobs)
        report = make_report(grid, folder)
        page = write_report(report, folder)
    except SampoError as error:
        fail(str(error))
    except OSError as error:
        if error.filename is None:
            raise
        fail(f"{error.filename}: {error.strerror}.")
    except KeyboardInterrupt:
        fail("stopped. The same command goes on with what is not done.", code=130)
    done = f"{len(report.results)} of {len(grid.runs())} runs"
    sys.stdout.write(f"{done}: {page}, arena.json and arena.csv beside it.\n")
    if errors:
        for name, words in errors.items():
            sys.stderr.write(f"{name} failed: {words}\n")
        fail(f"{len(errors)} runs failed; the same command tries them again.")


def _run(grid: Grid, folder: Path, jobs: int) -> dict[str, str]:
    """Run what is not done under a live table; return the last words of what failed."""
    console = Console(stderr=True)
    runner = Runner(grid=grid, folder=folder, jobs=jobs)
    with Live(progress_table(grid, runner.progress), console=console, transient=False) as live:
        runner.changed = lambda progress: live.update(progress_table(grid, progress))
        return runner.run().errors


def progress_table(grid: Grid, progress: Progress) -> Table:
    """Return methods x environments, a mark per seed."""
    counts = Counter[str](progress.states.values())
    said = ", ".join(f"{counts[state]} {state}" for state in _MARKS if counts[state])
    table = Table(title=f"{grid.name}: {said}", title_justify="left", box=None)
    table.add_column("method")
    for environment in grid.environments:
        table.add_column(environment.name)
    marks = {run.name: _MARKS[progress.states[run.name]] for run in grid.runs()}
    for method in grid.methods:
        table.add_row(
            method.name,
            *(
                " ".join(marks[f"{place.name}/{method.name}/seed_{seed}"] for seed in grid.seeds)
                for place in grid.environments
            ),
        )
    return table


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
        "--report-only", action="store_true", help="run nothing, report on what is there"
    )
    return parser
