"""Where games are: those that come with the package, or real ones on disk."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from sampo.errors import MissingDataError
from sampo_envs.alfworld.games import SPLITS, FolderGames, Games, ZipGames, zip_of

VARIABLE = "SAMPO_ALFWORLD_DATA"
"""Environment variable that names a folder or an archive with real games."""
GENERATED, FETCHED = "generated", "fetched"
RELEASE = "json_2.1.3_tw-pddl.zip"
"""The file of ALFWorld's release that holds the text games."""
_ARCHIVES = (".zip", ".tar", ".xz", ".gz", ".bz2", ".tgz")


def release_place() -> Path:
    """Return where the fetch command puts the release's file: in the user's folder of data."""
    home = os.environ.get("XDG_DATA_HOME")
    share = Path(home) if home else Path.home() / ".local" / "share"
    return share / "sampo" / "alfworld" / RELEASE


def fetched_place() -> Path:
    """Return where real games are looked for, which need not be there yet.

    What `$SAMPO_ALFWORLD_DATA` names, or else where the fetch command puts them.
    """
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else release_place()


def cache_folder() -> Path:
    """Return where is kept what can be made again: translations, and archives as zip files."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "sampo" / "alfworld"


def open_games(data: str) -> Games:
    """Return the games that a setting means.

    Args:
        data: `generated`, `fetched`, or the path of a folder or an archive. A folder holds the
            folders of the splits, or `json_2.1.1` with them, or one archive.

    Raises:
        MissingDataError: There are none.
    """
    if data == GENERATED:
        return _open(Path(str(files(__package__ or "").joinpath("generated.zip"))))
    place = fetched_place() if data == FETCHED else Path(data).expanduser()
    for found in (place, place / "json_2.1.1"):
        if any((found / split).is_dir() for split in SPLITS):
            return _open(found)
    archives = [place]
    if place.is_dir():
        archives = [one for one in sorted(place.iterdir()) if one.suffix in _ARCHIVES]
    if len(archives) == 1 and archives[0].is_file():
        games = _open(archives[0])
        if any(games.splits.values()):
            return games
    raise MissingDataError(
        f"ALFWorld: there are no games at {place} (data={data!r}). Get the real ones with `python "
        f"-m sampo_envs.alfworld.fetch`, name a folder or an archive by data or {VARIABLE}, or set "
        f"data to {GENERATED!r}."
    )


@lru_cache(maxsize=4)
def _open(place: Path) -> Games:
    if place.is_dir():
        return FolderGames(place)
    return ZipGames(zip_of(place, cache_folder()))
