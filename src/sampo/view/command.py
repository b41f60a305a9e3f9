"""`sampo view RUN`: what the command line makes of it. Imports no torch, so it starts at once."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from sampo.plain_commands import PlainParser, in_one_sentence
from sampo.view.page import Page, write_page
from sampo.view.run_files import find_run


def main(args: Sequence[str]) -> None:
    """Write the page of a run and open it.

    Args:
        args: what follows `view` on the command line.
    """
    options = _parser().parse_args(args)
    with in_one_sentence():
        run = find_run(options.run)
        if run.note:
            sys.stderr.write(f"{run.note}\n")
        output = Path(options.output) if options.output else run.folder / "view.html"
        page = write_page(run, output)
    sys.stderr.writelines(f"Note: {notice}\n" for notice in page.notices)
    sys.stdout.write(f"{_said(page)}\n")
    if options.open == "true" and _has_display():
        webbrowser.open(page.path.absolute().as_uri())


def _parser() -> PlainParser:
    parser = PlainParser(
        prog="sampo view",
        arguments="RUN [--output FILE] [--open false]",
        description="Write one HTML page about a run: its curves, alarms and episodes. It needs no "
        "server and no network, so it can be kept and sent.",
    )
    parser.add_argument("run", metavar="RUN", help="folder of a run; or of runs: then the newest")
    parser.add_argument("--output", metavar="FILE", help="the page (default: RUN/view.html)")
    parser.add_argument(
        "--open",
        choices=("true", "false"),
        default="true",
        help="open it in a browser, where there is a screen (default: true)",
    )
    return parser


def _said(page: Page) -> str:
    """Return the sentence about a page."""
    return (
        f"Wrote {page.path} ({page.size / 1e6:.1f} MB): {page.updates} files of rollouts; the "
        f"episodes of {page.shown} files, evaluations included, can be read in it."
    )


def _has_display() -> bool:
    """Return whether a browser would be seen: on a server it would take over the terminal."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
