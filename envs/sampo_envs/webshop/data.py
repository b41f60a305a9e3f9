"""Where a shop's data are: the made-up catalogue of this package, or real data on disk."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from sampo.errors import MissingDataError

VARIABLE = "SAMPO_WEBSHOP_DATA"
"""Environment variable that names the folder of the real data."""
MADE_UP, FETCHED = "made-up", "fetched"


def fetched_folder() -> Path:
    """Return the folder of the real data, which need not be there yet.

    `$SAMPO_WEBSHOP_DATA`, or else `sampo/webshop` in `$XDG_DATA_HOME` or `~/.local/share`.
    """
    if named := os.environ.get(VARIABLE):
        return Path(named)
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "sampo" / "webshop"


def data_folder(data: str) -> Path:
    """Return the folder that a setting means.

    Args:
        data: `made-up`, `fetched`, or the path of a folder.

    Raises:
        MissingDataError: There is no such folder.
    """
    if data == MADE_UP:
        return Path(str(files(__package__ or "").joinpath("made_up")))
    folder = fetched_folder() if data == FETCHED else Path(data)
    if not folder.is_dir():
        raise MissingDataError(
            f"WebShop: there is no data folder {folder} (data={data!r}). Get the real data with "
            f"`python -m sampo_envs.webshop.fetch`, name a folder by data or {VARIABLE}, or set "
            f"data to {MADE_UP!r}."
        )
    return folder
