"""Turns the parser's errors into one sentence with the nearest valid name."""

from __future__ import annotations

import re
import sys
from typing import Any, NoReturn

from lightning.pytorch.cli import LightningArgumentParser

from sampo.errors import did_you_mean

_UNKNOWN_KEY = re.compile(
    r"(?:[Kk]ey|[Oo]ption|arguments?:?|action for key) ['\"]?(?:--)?([\w.]+)['\"]?"
)


class PlainErrorParser(LightningArgumentParser):
    """A parser whose errors are one sentence on stderr and exit status 2."""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Say what is wrong, name the nearest valid key, and exit with 2."""
        text = " ".join(str(message).split())
        sys.stderr.write(f"sampo: error: {text}{self._hint(text)}\n")
        sys.exit(2)

    def _hint(self, text: str) -> str:
        match = _UNKNOWN_KEY.search(text)
        if match is None or "Did you mean" in text:
            return ""
        return did_you_mean(match.group(1), self._known_keys())

    def _known_keys(self) -> list[str]:
        keys = [action.dest for action in self._actions]
        subparsers: Any = getattr(self, "_subcommands_action", None)
        if subparsers is not None:
            for parser in subparsers._name_parser_map.values():
                keys += [action.dest for action in parser._actions]
        return keys
