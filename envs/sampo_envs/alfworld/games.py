"""Game files: where they lie, what they are called, and what is in them.

A game is `<split>/<task>-<object>-<movable>-<receptacle>-<scene>/<trial>/game.tw-pddl`, as in
ALFWorld's release, in a folder or in a zip file; other archives are turned into a zip file once.
"""

from __future__ import annotations

import json
import os
import tarfile
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from sampo.errors import EnvFailure, MissingDataError

FILE = "game.tw-pddl"
SPLITS = ("train", "valid_seen", "valid_unseen")
TYPES = {
    "pick_and_place_simple": "Pick",
    "look_at_obj_in_light": "Look",
    "pick_clean_then_place_in_recep": "Clean",
    "pick_heat_then_place_in_recep": "Heat",
    "pick_cool_then_place_in_recep": "Cool",
    "pick_two_obj_and_place": "Pick2",
}
"""The six types of tasks, and the names that the paper gives them."""
_LEFT_OUT = ("movable", "Sliced")
"""Words in the names of games that ALFWorld does not play."""


@dataclass(frozen=True, kw_only=True)
class Game:
    """One game as its file has it."""

    domain: str
    grammar: str
    problem: str
    walkthrough: tuple[str, ...]
    """Commands that win it."""


class Games(ABC):
    """A collection of game files, named `split/task/trial`."""

    @abstractmethod
    def names(self) -> Iterable[str]:
        """Return the names of all games, in no order."""

    @abstractmethod
    def path(self, name: str) -> str:
        """Return where a game lies, for people."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Return the content of a game's file."""

    @cached_property
    def splits(self) -> dict[str, tuple[str, ...]]:
        """The games of each split, in an order that mixes types and rooms, always the same."""
        owned: dict[str, list[str]] = {split: [] for split in SPLITS}
        for name in self.names():
            split = name.partition("/")[0]
            if split in owned and not any(word in name for word in _LEFT_OUT):
                owned[split].append(name)
        return {split: tuple(sorted(names, key=_place)) for split, names in owned.items()}


class FolderGames(Games):
    """Game files in a folder that holds the splits' folders."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> Iterable[str]:
        """Return the names of all games."""
        for split in SPLITS:
            for path in self._folder.glob(f"{split}/*/*/{FILE}"):
                yield path.parent.relative_to(self._folder).as_posix()

    def path(self, name: str) -> str:
        """Return the path of a game's file."""
        return str(self._folder / name / FILE)

    def read(self, name: str) -> bytes:
        """Return the content of a game's file."""
        return (self._folder / name / FILE).read_bytes()


class ZipGames(Games):
    """Game files in a zip file, read from there."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._zip = zipfile.ZipFile(file)
        self._entries = {
            game_name(entry): entry for entry in self._zip.namelist() if entry.endswith(f"/{FILE}")
        }

    def names(self) -> Iterable[str]:
        """Return the names of all games."""
        return self._entries

    def path(self, name: str) -> str:
        """Return the zip file and the entry."""
        return f"{self._file}:{self._entries.get(name, name)}"

    def read(self, name: str) -> bytes:
        """Return the content of a game's file."""
        return self._zip.read(self._entries[name])


def game_name(path: str) -> str:
    """Return the name of the game with this path.

    Example:
        >>> game_name("json_2.1.1/train/look_at_obj_in_light-Mug-None-DeskLamp-301/T1/game.tw-pddl")
        'train/look_at_obj_in_light-Mug-None-DeskLamp-301/T1'
    """
    return "/".join(path.split("/")[-4:-1])


def task_type(name: str) -> str:
    """Return the type of a game, of its own making what is none of the six: `Other`.

    Example:
        >>> task_type("valid_seen/pick_two_obj_and_place-Mug-None-Shelf-3/trial_T20190101_1_1")
        'Pick2'
    """
    return TYPES.get(name.split("/")[1].partition("-")[0], "Other")


def read_game(games: Games, name: str) -> Game:
    """Return a game.

    Raises:
        EnvFailure: Its file cannot be read, is damaged, unsolvable, or of another version.
    """
    where = f"ALFWorld: the game {games.path(name)}"
    try:
        data = json.loads(games.read(name))
    except (OSError, zipfile.BadZipFile) as error:
        raise EnvFailure(f"{where} cannot be read: {error}.") from error
    except ValueError as error:
        raise EnvFailure(f"{where} is no JSON, so it is truncated or damaged: {error}.") from error
    if not isinstance(data, dict):
        raise EnvFailure(f"{where} is JSON, but no game: {type(data).__name__}.")
    if "solvable" in data and data["solvable"] is not True:
        raise EnvFailure(f"{where} is not solvable, as it says itself.")
    data = _complete(data)
    for key in ("pddl_domain", "grammar", "pddl_problem"):
        if not isinstance(data.get(key), str):
            raise EnvFailure(
                f"{where} has no text {key!r}: it is of another version than the games of ALFWorld "
                "0.3 and later."
            )
    walkthrough = data.get("walkthrough")
    if not isinstance(walkthrough, list) or not all(isinstance(one, str) for one in walkthrough):
        raise EnvFailure(f"{where} has no walkthrough: it is unsolvable, or of another version.")
    return Game(
        domain=data["pddl_domain"],
        grammar=data["grammar"],
        problem=data["pddl_problem"],
        walkthrough=tuple(walkthrough),
    )


@lru_cache(maxsize=1)
def installed_texts() -> tuple[str, str]:
    """Return domain and grammar as the installed alfworld package has them."""
    folder = files("alfworld") / "data"
    return (folder / "alfred.pddl").read_text(), (folder / "alfred.twl2").read_text()


def _complete(data: dict[str, Any]) -> dict[str, Any]:
    """Give a generated game what it leaves to the installed package."""
    if "task" not in data or "grammar" in data:
        return data
    domain, grammar = installed_texts()
    sentence = str(data["task"])
    return {**data, "pddl_domain": domain, "grammar": grammar.replace("UNKNOWN GOAL", sentence)}


def zip_of(archive: Path, cache: Path) -> Path:
    """Return an archive as a zip file, made in the cache where it is none.

    Raises:
        MissingDataError: It is no archive, or the cache cannot be written.
    """
    if zipfile.is_zipfile(archive):
        return archive
    facts = archive.stat()
    key = sha256(f"{archive.resolve()} {facts.st_size} {facts.st_mtime_ns}".encode()).hexdigest()
    ready = cache / f"{key[:16]}.zip"
    if ready.is_file():
        return ready
    part = None
    try:
        cache.mkdir(parents=True, exist_ok=True)
        descriptor, part = tempfile.mkstemp(dir=cache, suffix=".part")
        with os.fdopen(descriptor, "wb") as stream:
            _repack(archive, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1))
        Path(part).replace(ready)
    except (OSError, EOFError, tarfile.TarError) as error:
        raise MissingDataError(
            f"ALFWorld: {archive} cannot be unpacked into {cache}: {error or 'it is cut off'}."
        ) from error
    finally:
        if part is not None:
            Path(part).unlink(missing_ok=True)
    return ready


def _repack(archive: Path, target: zipfile.ZipFile) -> None:
    with target, tarfile.open(archive, "r|*") as source:
        for member in source:
            content = source.extractfile(member) if member.name.endswith(f"/{FILE}") else None
            if content is not None:
                target.writestr(f"{game_name(member.name)}/{FILE}", content.read())


def _place(name: str) -> str:
    return sha256(name.encode()).hexdigest()
