"""The explanation on a terminal or in a file: plain text, at any width from 80 columns on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sampo.explain.cautions import Caution, cautions
from sampo.explain.cost import cost_rows
from sampo.explain.dials import dial_rows
from sampo.explain.differences import differences
from sampo.explain.objective import Objective, objective
from sampo.explain.run import Run
from sampo.explain.sequences import denominators, sequences

_INDENT = 2


class FormulaBlock:
    """The objective with its definitions, laid out for the width at hand."""

    def __init__(self, content: Objective) -> None:
        self.content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give the formula, then one line per symbol, or two where one is too short."""
        lines = self.content.lines(options.max_width)
        yield Text("\n".join(lines), style="bold")
        yield Text()
        # The equals signs stand below each other.
        symbols = max((len(line.symbol) for line in self.content.where), default=0)
        room = options.max_width - symbols - 3
        grid = Table.grid()
        grid.add_column(no_wrap=True)
        grid.add_column()
        for line in self.content.where:
            text = Text(line.formula)
            if line.words:
                fits = len(line.formula) + 3 + len(line.words) <= room
                text.append("   " if fits else "\n").append(line.words, style="dim")
            grid.add_row(Text.assemble((line.symbol.ljust(symbols), "bold"), " = "), text)
        yield grid


def screen(run: Run) -> RenderableType:
    """Return everything that is to be said about a run."""
    found = cautions(run)
    env = type(run.data.player.env).__name__
    length = "" if run.updates is None else f", {run.updates:,} updates"
    sections: list[tuple[str, RenderableType]] = [
        ("Objective, minimised over each mini-batch", FormulaBlock(objective(run))),
        ("The four dials", _dials(run)),
        ("Denominators", _sentences(denominators(run))),
        ("What a sequence is", _sentences(sequences(run))),
        ("Where the paper and its code differ, and the side taken here", _differences(run)),
        ("Cost of one update", _costs(run)),
    ]
    blocks: list[RenderableType] = [Text(f"{run.model.hparams['policy']} on {env}{length}")]
    for title, content in sections:
        blocks += [
            Text(),
            Text(title, style="bold underline"),
            Padding(content, (0, 0, 0, _INDENT)),
        ]
    title = f"Warnings: {len(found)}" if found else "Warnings: none."
    blocks += [Text(), Text(title, style="bold underline")]
    if found:
        blocks.append(Padding(_cautions(found), (0, 0, 0, _INDENT)))
    return Group(*blocks)


def _sentences(lines: Sequence[str]) -> RenderableType:
    grid = Table.grid(padding=(0, 1, 0, 0))
    for line in lines:
        grid.add_row("•", Text(line))
    return grid


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _dials(run: Run) -> Table:
    rows = ((row.dial, row.setting, row.value) for row in dial_rows(run))
    return _table(("dial", "setting", "values"), rows)


def _differences(run: Run) -> Table:
    rows = ((row.point, row.paper, row.code, row.here) for row in differences(run))
    return _table(("point", "paper", "code", "here"), rows)


def _costs(run: Run) -> Table:
    rows = ((row.what, row.amount, row.why) for row in cost_rows(run))
    return _table(("what", "amount", "why"), rows)


def _cautions(found: Sequence[Caution]) -> RenderableType:
    grid = Table.grid(padding=(0, 1, 0, 0))
    for number, caution in enumerate(found, start=1):
        text = Text(caution.says, style="bold")
        text.append(f"\nWhy: {caution.why}", style="not bold")
        text.append(f"\nFix: {caution.fix}", style="not bold")
        grid.add_row(Text(f"{number}."), text)
    return grid
