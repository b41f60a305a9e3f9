"""What is printed, at both ends of common widths, on a terminal and in a file."""

import io

import pytest
from rich.console import Console

from sampo.explain import screen
from sampo.losses import Aggregation, Clip, PolicyLoss

TITLES = [
    "Objective, minimised over each mini-batch",
    "The four dials",
    "Denominators",
    "What a sequence is",
    "Where the paper and its code differ, and the side taken here",
    "Cost of one update",
    "Warnings: none.",
]


def printed(run, width: int, **options) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width, highlight=False, **options).print(screen(run))
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize("width", [80, 120])
def test_sections_come_in_order_and_fit(make_run, width: int) -> None:
    lines = printed(make_run(), width)
    assert lines[0] == "nowhere on Corridor, 200 updates"
    assert [line for line in lines if line in TITLES] == TITLES
    assert max(map(len, lines)) <= width


def test_words_stand_beside_the_formula_where_there_is_room(make_run) -> None:
    line = "  E_i  = (S_i − mean S) / (std S + 1e-6)"
    narrow, wide = printed(make_run(), 80), printed(make_run(), 120)
    assert line in narrow
    assert any(entry.startswith(f"{line}   over all turns of the group") for entry in wide)


def test_brackets_are_no_markup(make_run) -> None:
    assert any("[turn i invalid]" in line for line in printed(make_run(), 80))


def test_a_file_gets_no_colour_and_a_terminal_does(make_run) -> None:
    assert "\x1b" not in "".join(printed(make_run(), 80))
    assert "\x1b[1m" in "".join(printed(make_run(), 80, force_terminal=True))


def test_cautions_are_numbered_with_reason_and_fix(make_run) -> None:
    loss = PolicyLoss(aggregation=Aggregation(kind="token_mean"), surrogate=Clip())
    lines = printed(make_run(loss), 120)
    start = lines.index("Warnings: 2")
    assert lines[start + 1].startswith("  1. aggregation token_mean with a turn ratio")
    assert lines[start + 2].startswith("     Why: ")
    assert any(line.startswith("     Fix: --model.loss.aggregation.kind") for line in lines)
    assert any(line.startswith("  2. A clip of 0.2 and 0.2") for line in lines)


def test_a_run_without_an_end_says_nothing_of_its_length(make_run) -> None:
    assert printed(make_run(updates=None), 80)[0] == "nowhere on Corridor"
