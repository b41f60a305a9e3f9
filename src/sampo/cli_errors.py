"""Turns the parser's errors into one sentence with the nearest valid name."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable
from typing import Any, NoReturn, get_args

from jsonargparse import ActionConfigFile  # pyright: ignore[reportPrivateImportUsage]
from lightning.pytorch.cli import LightningArgumentParser

from sampo.cli_values import explain_plain_value, explain_union
from sampo.errors import did_you_mean

_NO_SUBCOMMAND = re.compile(r"argument subcommand: invalid choice: '(.*?)' \(choose from (.*)\)")
_NO_VALUE = re.compile(r"argument (--[\w.]+): expected one argument")
_STRAY_WORD = re.compile(r"unrecognized arguments: (?!-)(.*)")
_UNKNOWN_OPTION = re.compile(r"unrecognized arguments: --([\w.]+)")
_UNKNOWN_KEY = re.compile(r"Subcommand '\w+' does not accept option '([\w.]+)'")
_UNKNOWN_IN_GROUP = re.compile(r"Group '([\w.]+)' does not accept option '([\w.]+)'")
_UNKNOWN_SETTING = re.compile(r"(?:Option|[Kk]ey) '([\w.]+)' is not (?:accepted|expected)")
_LINKED = re.compile(r"argument (?P<source>[\w.]+) --> (?P<target>[\w.]+):")
_LINKED_GROUP = re.compile(r'Linked "(?P<target>[\w.]+)" must be given via "(?P<source>[\w.]+)"')
_REQUIRED = re.compile(r"arguments are required: ([\w.]+)")
_WITHIN_GROUP = re.compile(r'Unable to load config .* - (Parser key "[\w.]+": (?!Unable).*)')
_BAD_VALUE = re.compile(r'(?:Parser )?[Kk]ey "([\w.]+)": (.*)')
_NO_MAPPING = re.compile(r"Unable to load config '(.*?)'")
_NOT_OF_KIND = re.compile(r"Import path ([\w.]+) does not correspond to a subclass of (\w+)")
_NO_SPEC = re.compile(r"Not a valid subclass of (\w+)\. Got value: (.*?)(?: Subclass types| - |$)")
_CLASS = re.compile(r"(?:dot import path string: |given class_path ')([\w.]+)")
_ABSTRACT = re.compile(r"instantiatable class, but ([\w.]+) is abstract")
_BROKEN = re.compile(r"given class_path '([\w.]+)': (.*)")
_FOR_TESTS = "sampo.doctor"
"""Has an environment that no one trains on."""


class PlainErrorParser(LightningArgumentParser):
    """A parser whose errors are one sentence on stderr and exit status 2."""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Say what is wrong, name the nearest valid name, and exit with 2."""
        sys.stderr.write(f"sampo: error: {self.explain(' '.join(str(message).split()))}\n")
        sys.exit(2)

    def explain(self, text: str) -> str:
        """Return the parser's message, on one line, as a sentence for the user."""
        if match := _NO_SUBCOMMAND.search(text):
            names = re.findall(r"'(\w+)'", match[2])
            hint = did_you_mean(match[1], names)
            return f"There is no subcommand {match[1]!r}.{hint} There are {', '.join(names)}."
        if match := _NO_VALUE.search(text):
            return f"{match[1]} needs a value."
        if match := _LINKED.search(text) or _LINKED_GROUP.search(text):
            return f"{match['target']} is linked to {match['source']}; set {match['source']}."
        if match := _REQUIRED.search(text):
            return self._explain_missing(match[1])
        if unknown := self._explain_unknown(text):
            return unknown
        if match := _WITHIN_GROUP.search(text):
            text = match[1]
        if match := _BAD_VALUE.search(text):
            key, problem = match.groups()
            if no_mapping := _NO_MAPPING.search(problem):
                return f"{key}: {_explain_no_mapping(no_mapping[1], self._names_below(key))}"
            return f"{key}: {_explain_value(problem, self._kinds_of(key))}"
        return text

    def _explain_unknown(self, text: str) -> str:
        """Return what is wrong with a name that is none; empty where names are not the matter."""
        setting = _UNKNOWN_SETTING.search(text)
        if (owner := self._class_name()) and (match := setting or _UNKNOWN_OPTION.search(text)):
            return _explain_no_parameter(match[1], owner, self._keys())
        if match := _STRAY_WORD.search(text):
            return f"{match[1]!r} is no option and no value of one; options begin with --."
        if match := _UNKNOWN_OPTION.search(text):
            return self._explain_no_name(f"option --{match[1]}", match[1])
        if match := _UNKNOWN_KEY.search(text):
            return self._explain_no_name(f"setting {match[1]}", match[1])
        if match := _UNKNOWN_IN_GROUP.search(text):
            name = f"{match[1]}.{match[2]}"
            return f"There is no setting {name}.{did_you_mean(name, self._keys())}"
        if setting:
            names = {key.rsplit(".", 1)[-1] for key in self._keys()}
            return f"There is no setting {setting[1]!r}.{did_you_mean(setting[1], names)}"
        return ""

    def _explain_no_name(self, what: str, name: str) -> str:
        """Return that there is no such name; other subcommands may have it, or one like it."""
        keys = self._keys()
        if name in keys:
            return f"This subcommand has no {what}; others have."
        return f"There is no {what}.{did_you_mean(name, keys)}"

    def _explain_missing(self, key: str) -> str:
        """Return what to do about a setting without a value."""
        subcommands: Any = self._subcommands_action
        root, _, rest = key.partition(".")
        if subcommands is not None and root in subcommands.choices:
            key = rest
        choices = _set_one_of(self._kinds_of(key)) or f"; set it with --{key}"
        return f"{key} has no value, or null{choices}."

    def _all_actions(self) -> list[Any]:
        """Return the actions of this parser and of its subcommands."""
        actions: list[Any] = list(self._actions)
        subcommands: Any = self._subcommands_action
        for parser in {} if subcommands is None else subcommands._name_parser_map.values():
            actions += parser._actions
        return actions

    def _keys(self) -> list[str]:
        """Return the keys of this parser and of its subcommands."""
        return [action.dest for action in self._all_actions()]

    def _names_below(self, key: str) -> list[str]:
        """Return the names of the settings of a group."""
        below = (
            name.removeprefix(f"{key}.") for name in self._keys() if name.startswith(f"{key}.")
        )
        return list(dict.fromkeys(name.split(".")[0] for name in below))

    def _kinds_of(self, key: str) -> set[str]:
        """Return the names of the classes that the value of a key may be of."""
        hints = [getattr(a, "_typehint", None) for a in self._all_actions() if a.dest == key]
        return {kind.__name__ for hint in hints for kind in _classes_in(hint)}

    def _class_name(self) -> str:
        """Return the class whose settings this parser reads; empty for one of the command line.

        The parser of a class has one group of settings that is called after it and has no prefix.
        """
        if any(isinstance(action, ActionConfigFile) for action in self._actions):
            return ""
        keys = self._keys()
        return next(
            (
                name
                for name in self.groups or {}
                if name not in keys and not any(key.startswith(f"{name}.") for key in keys)
            ),
            "",
        )


def _explain_no_parameter(name: str, owner: str, keys: Iterable[str]) -> str:
    """Return what is wrong with the name of a setting that a class does not have."""
    names = sorted({key.split(".")[0] for key in keys} - {"help"})
    if hint := did_you_mean(name, names):
        return f"{owner} has no setting {name!r}.{hint}"
    rest = f"it has {', '.join(names)}" if names else "it has none at all"
    return f"{owner} has no setting {name!r}; {rest}."


def _explain_no_mapping(value: str, names: list[str]) -> str:
    """Return what is wrong with a value that stands where several settings belong."""
    if value == "null":
        return f"must not be null; leave it out, or set what is in it: {', '.join(names)}."
    return f"{value!r} is no group of settings; set what is in it: {', '.join(names)}."


def _explain_value(text: str, kinds: set[str]) -> str:
    """Return what is wrong with the value of a key that takes objects of these classes."""
    if (match := _BROKEN.search(text)) and "has no attribute" not in match[2]:
        top = match[1].split(".")[0]
        if f"No module named '{top}" not in match[2]:
            return f"{match[1]} cannot be imported: {match[2]}"
    if match := _ABSTRACT.search(text):
        name = match[1].rsplit(".", 1)[-1]
        return f"{name} is abstract{_set_one_of({name}, '; choose one of its classes first: ')}."
    if match := _NOT_OF_KIND.search(text):
        return _explain_class(match[1], {match[2]})
    if match := _CLASS.search(text):
        return _explain_class(match[1], kinds)
    if match := _NO_SPEC.search(text):
        wrong = "must not be null" if match[2] == "None" else f"{match[2]} names no {match[1]}"
        return f"{wrong}{_set_one_of({match[1]})}."
    return explain_union(text) or explain_plain_value(text)


def _explain_class(path: str, kinds: set[str]) -> str:
    """Return what is wrong with a class that is not there, or not of the kinds that are wanted."""
    name, choices = path.rsplit(".", 1)[-1], _set_one_of(kinds)
    known = {cls.__name__ for cls in _classes()}
    fitting = {cls.__name__ for cls in _classes() if _is_a(cls, kinds)} if kinds else known
    if name in known - fitting:
        return f"{name} is no {' or '.join(sorted(kinds))}{choices}."
    hint = did_you_mean(name, fitting)
    return f"there is no class {path!r}.{hint}" if hint else f"there is no class {path!r}{choices}."


def _set_one_of(kinds: set[str], before: str = "; set one of ") -> str:
    """Return the classes below these kinds that can be made, as words; empty without any."""
    offered = (cls for cls in _classes() if not cls.__module__.startswith(_FOR_TESTS))
    names = sorted({cls.__name__ for cls in offered if _is_a(cls, kinds)})
    return before + ", ".join(names) if names else ""


def _is_a(cls: type, kinds: set[str]) -> bool:
    """Return whether a class can be made and lies below one of the classes of these names."""
    private = cls.__name__.startswith("_") or inspect.isabstract(cls)
    return not private and bool(kinds & {base.__name__ for base in cls.__mro__[1:]})


def _classes() -> list[type]:
    """Return the classes of sampo and its benchmarks that have been imported."""
    modules = [module for name, module in sys.modules.items() if name.startswith("sampo")]
    return [
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if member.__module__.startswith("sampo") and not issubclass(member, BaseException)
    ]


def _classes_in(hint: Any) -> list[type]:
    """Return the classes that a type hint names, in unions and lists, too; none of Python's own."""
    inner = get_args(hint)
    if not inner and inspect.isclass(hint) and hint.__module__ != "builtins":
        return [hint]
    return [kind for part in inner for kind in _classes_in(part)]
