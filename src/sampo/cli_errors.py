"""Turns the parser's errors into one sentence with the nearest valid name."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any, NoReturn

from lightning.pytorch.cli import LightningArgumentParser

from sampo.errors import did_you_mean

_UNKNOWN_OPTION = re.compile(r"unrecognized arguments: --([\w.]+)")
_UNKNOWN_KEY = re.compile(r"Subcommand '\w+' does not accept option '([\w.]+)'")
_UNKNOWN_IN_GROUP = re.compile(r"Group '([\w.]+)' does not accept option '([\w.]+)'")
_UNKNOWN_SETTING = re.compile(r"(?:Option|[Kk]ey) '([\w.]+)' is not (?:accepted|expected)")
_BAD_VALUE = re.compile(r'(?:Parser )?[Kk]ey "([\w.]+)": (.*)')
_CLASS = re.compile(r"(?:dot import path string: |given class_path ')([\w.]+)")
_ABSTRACT = re.compile(r"instantiatable class, but ([\w.]+) is abstract")
_BROKEN = re.compile(r"given class_path '([\w.]+)': (.*)")
_LITERAL = re.compile(r"Literal\[(.*?)\]\. Got value: (.*)")
_TYPE = re.compile(r"Expected an? (?:<class '([\w.]+)'>|(\S+))\. Got value: (.*)")


class PlainErrorParser(LightningArgumentParser):
    """A parser whose errors are one sentence on stderr and exit status 2."""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Say what is wrong, name the nearest valid name, and exit with 2."""
        sys.stderr.write(f"sampo: error: {self.explain(' '.join(str(message).split()))}\n")
        sys.exit(2)

    def explain(self, text: str) -> str:
        """Return the parser's message, on one line, as a sentence for the user."""
        if match := _UNKNOWN_OPTION.search(text):
            name = match[1]
            return f"There is no option --{name}.{did_you_mean(name, self._keys())}"
        if match := _UNKNOWN_KEY.search(text):
            return f"There is no setting {match[1]}.{did_you_mean(match[1], self._keys())}"
        if match := _UNKNOWN_IN_GROUP.search(text):
            name = f"{match[1]}.{match[2]}"
            return f"There is no setting {name}.{did_you_mean(name, self._keys())}"
        if match := _UNKNOWN_SETTING.search(text):
            names = {key.rsplit(".", 1)[-1] for key in self._keys()} | _parameter_names()
            return f"There is no setting {match[1]!r}.{did_you_mean(match[1], names)}"
        if match := _BAD_VALUE.search(text):
            return f"{match[1]}: {_explain_value(match[2])}"
        return text

    def _keys(self) -> list[str]:
        """Return the keys of this parser and of its subcommands."""
        keys = [action.dest for action in self._actions]
        subcommands: Any = self._subcommands_action
        for parser in {} if subcommands is None else subcommands._name_parser_map.values():
            keys += [action.dest for action in parser._actions]
        return keys


def _explain_value(text: str) -> str:
    """Return what is wrong with the value of a key."""
    if (match := _BROKEN.search(text)) and "has no attribute" not in match[2]:
        top = match[1].split(".")[0]
        if f"No module named '{top}" not in match[2]:
            return f"{match[1]} cannot be imported: {match[2]}"
    if match := _ABSTRACT.search(text):
        name = match[1].rsplit(".", 1)[-1]
        choices = sorted({cls.__name__ for cls in _classes() if _is_a(cls, name)})
        return f"{name} is abstract; choose one of its classes first: {', '.join(choices)}."
    if match := _CLASS.search(text):
        name = match[1].rsplit(".", 1)[-1]
        hint = did_you_mean(name, [cls.__name__ for cls in _classes()])
        return f"there is no class {match[1]!r}.{hint}"
    if match := _LITERAL.search(text):
        choices = [choice.strip().strip("'\"") for choice in match[1].split(",")]
        return f"{match[2]!r} is none of {', '.join(choices)}.{did_you_mean(match[2], choices)}"
    if match := _TYPE.search(text):
        return f"expected {match[1] or match[2]}, got {match[3]!r}."
    return text


def _classes() -> list[type]:
    """Return the classes of sampo and its benchmarks that have been imported."""
    modules = [module for name, module in sys.modules.items() if name.startswith("sampo")]
    return [
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if member.__module__.startswith("sampo") and not issubclass(member, BaseException)
    ]


def _is_a(cls: type, base: str) -> bool:
    """Return whether a class can be made and is a kind of the one of that name."""
    return not inspect.isabstract(cls) and base in {parent.__name__ for parent in cls.__mro__}


def _parameter_names() -> set[str]:
    """Return the names of all settings of those classes."""
    return {name for cls in set(_classes()) for name in inspect.signature(cls).parameters}
