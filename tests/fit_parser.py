"""The parser of `sampo fit`, made once: parsing configs without running anything."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sampo.cli import SampoCLI


class _ParserMade(Exception):  # noqa: N818  it is no error
    pass


class _ParserOnly(SampoCLI):
    def parse_arguments(self, parser: Any, args: Any) -> None:
        raise _ParserMade(parser._subcommands_action._name_parser_map["fit"])


@lru_cache(maxsize=1)
def fit_parser() -> Any:
    """Return the parser that `sampo fit` uses, links and base config included."""
    try:
        _ParserOnly(["fit"])
    except _ParserMade as made:
        return made.args[0]
    raise AssertionError("the command line has stopped parsing its arguments")


def parse_fit(*args: str) -> Any:
    """Return the settings that the arguments of `sampo fit` give, as a nested namespace."""
    return fit_parser().parse_args(list(args))


def build_fit(*args: str) -> Any:
    """Return `model` and `data` as the arguments of `sampo fit` build them."""
    return fit_parser().instantiate_classes(parse_fit(*args))
