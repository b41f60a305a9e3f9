"""Subcommands that start at once, without torch: their parser, and how they say what went wrong."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn


class PlainParser(argparse.ArgumentParser):
    """A parser that answers mistakes in one sentence, as the trainer's subcommands do.

    Args:
        prog: the command, e.g. `sampo view`.
        arguments: what follows it, in short, for that sentence.
        description: for `--help`.
    """

    def __init__(self, prog: str, arguments: str, description: str) -> None:
        super().__init__(prog=prog, description=description, allow_abbrev=False)
        self._usage = f"{prog} {arguments}"

    def error(self, message: str) -> NoReturn:
        """Say the sentence and exit with 2."""
        fail(f"{message} ({self._usage})", code=2)


def fail(message: str, code: int = 1) -> NoReturn:
    """Print one line on stderr and exit."""
    sys.stderr.write(f"sampo: error: {' '.join(message.split())}\n")
    sys.exit(code)
