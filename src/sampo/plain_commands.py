"""Subcommands that start at once, without torch: their parser, and how they say what went wrong."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from sampo.errors import SampoError

_ELSEWHERE = (
    "write elsewhere with --trainer.logger.init_args.save_dir (or --trainer.default_root_dir)"
)
_REMEDIES = {
    errno.ENOSPC: f"Free some space, or {_ELSEWHERE}; the last checkpoint is whole, and the run "
    "goes on with --ckpt_path last",
    errno.EDQUOT: f"Free some space, or {_ELSEWHERE}; the last checkpoint is whole, and the run "
    "goes on with --ckpt_path last",
    errno.EROFS: f"Make it writable, or {_ELSEWHERE}",
    errno.EACCES: f"Make it accessible, or {_ELSEWHERE}",
}


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


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """Say what goes wrong within, where it is plain, as one sentence instead of a traceback."""
    try:
        yield
    except SampoError as error:
        fail(str(error))
    except OSError as error:
        sentence = explain_os_error(error)
        if sentence is None:
            raise
        fail(sentence)


def explain_os_error(error: OSError) -> str | None:
    """Return the sentence for what the system refused; None where neither file nor cause is plain.

    Example:
        >>> explain_os_error(FileNotFoundError(2, "No such file or directory", "/here"))
        '/here: No such file or directory.'
    """
    remedy = _REMEDIES.get(error.errno or 0)
    if remedy is None and error.filename is None:
        return None
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{error.strerror}." + (f" {remedy}." if remedy else "")
