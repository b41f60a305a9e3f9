"""What a config or an option does to what was chosen before it.

The parser merges mappings key by key, and for a class it would carry arguments of the same name
over from the class chosen before: `clip_low` of GSPO's clip would become CISPO's. Here whoever
names a class starts it afresh, so that a fragment means what it says, whatever came before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import ActionConfigFile, Namespace  # pyright: ignore[reportPrivateImportUsage]
from jsonargparse._actions import _ActionConfigLoad
from jsonargparse._typehints import ActionTypeHint

from sampo.cli_errors import PlainErrorParser
from sampo.errors import ConfigError
from sampo.resources import find_config


class ConfigParser(PlainErrorParser):
    """A parser with `--config NAME`, in which naming a class starts it afresh."""

    def add_argument(self, *args: Any, **kwargs: Any) -> Any:
        """Add an argument; jsonargparse gives this method to argument groups, too."""
        action = super().add_argument(*args, **kwargs)
        if isinstance(action, ActionTypeHint):
            action.__class__ = FreshOption
        return action


class NamedConfigFile(ActionConfigFile):
    """`--config` by path, or by the name of a config that ships with sampo.

    `--engine NAME` is short for `--config engines/NAME`: one option with two names, because a
    parser may have no second one that reads configs.
    """

    def __call__(
        self, parser: Any, cfg: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Resolve the name, forget what the file replaces, and apply it."""
        path = find_config(f"engines/{values}" if option_string == "--engine" else values)
        given = _read(path)
        refuse_ignored(parser, given, path.name)
        forget_replaced(cfg, given)
        super().__call__(parser, cfg, str(path), option_string)


class FreshOption(ActionTypeHint):
    """A single setting on the command line, which likewise may name a class."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Forget what the option replaces, and apply it; without `args` it makes an action."""
        if args:
            _, cfg, value, option = args
            given = _loaded(value) if isinstance(value, str) else value
            for name in reversed((option or self.dest).lstrip("-").split(".")):
                given = {name: given}
            forget_replaced(cfg, given)
        return super().__call__(*args, **kwargs)


def forget_replaced(chosen: Namespace, given: Any) -> None:
    """Drop from `chosen` every list and every object with a class that `given` names anew.

    A mapping without `class_path` names nothing: it changes arguments of the class chosen before,
    so its own entries are looked at. `name+` appends to a list and so replaces nothing.

    Args:
        chosen: the settings so far; changed in place.
        given: what is about to be merged into them, as it was read; anything but a mapping is
            left to the parser to complain about.
    """
    if not isinstance(given, Mapping):
        return
    for name, value in given.items():
        before = chosen.get(str(name))
        has_class = isinstance(before, Namespace) and "class_path" in before
        names_class = isinstance(value, str) or (
            isinstance(value, Mapping) and "class_path" in value
        )
        replaces_list = isinstance(before, list) and isinstance(value, list)
        if replaces_list or (has_class and names_class):
            chosen.pop(name)
        elif isinstance(before, Namespace) and isinstance(value, Mapping):
            short = has_class and not {"init_args", "dict_kwargs"} & value.keys()
            forget_replaced(before.get("init_args", Namespace()) if short else before, value)


def refuse_ignored(parser: Any, given: Any, file: str, prefix: str = "") -> None:
    """Refuse what the parser would take from a file and then not use.

    A group that is null would lose its defaults, and a linked setting is overwritten.

    Raises:
        ConfigError: names the setting and the file.
    """
    links = {link.target[0]: link.source[0][0] for link in parser._links_group._group_actions}
    groups = {a.dest for a in parser._actions if isinstance(a, _ActionConfigLoad)}
    for key, value in given.items() if isinstance(given, Mapping) else ():
        name = f"{prefix}{key}"
        if name in links:
            raise ConfigError(f"{file}: {name} is linked to {links[name]}; set that.")
        if value is None and name in groups:
            raise ConfigError(
                f"{file}: {name} must not be null; leave it out, or set what is in it."
            )
        refuse_ignored(parser, value, file, f"{name}.")


def _read(path: Path) -> Any:
    """Return the settings of a file.

    Raises:
        ConfigError: it is no text, no YAML, or holds no settings.
    """
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is no text file: it is not UTF-8.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise ConfigError(f"{path}{where} is no YAML: {problem}.") from error
    if given is not None and not isinstance(given, Mapping):
        raise ConfigError(
            f"{path} must hold settings, e.g. `model: {{learning_rate: 1e-6}}`, not "
            f"{type(given).__name__} {str(given)[:50]!r}."
        )
    return given


def _loaded(text: str) -> Any:
    """Return what a text of YAML holds; None if it is none, which the parser says by itself."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None
