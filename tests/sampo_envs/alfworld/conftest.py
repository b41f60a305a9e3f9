"""Games to test with: those of the package always, real ones where they are."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alfworld_games import whole
from sampo_envs.alfworld import open_games
from sampo_envs.alfworld.games import FILE

REAL = os.environ.get("SAMPO_ALFWORLD_DATA")


@pytest.fixture(scope="session")
def real_data() -> str:
    """The folder or archive with the real games."""
    if REAL is None:
        pytest.skip("SAMPO_ALFWORLD_DATA names no folder or archive with the real games")
    return REAL


@pytest.fixture(scope="session")
def one_of_each() -> list[str]:
    """The names of six games of the package, one of each type."""
    found: dict[str, str] = {}
    for name in open_games("generated").splits["train"]:
        found.setdefault(name.split("/")[1].partition("-")[0], name)
    return list(found.values())


@pytest.fixture
def write_games(tmp_path: Path, one_of_each: list[str]) -> Callable[..., Path]:
    """Return a writer of a folder of complete games, with changes of their files."""

    def write(**contents: Any) -> Path:
        folder = tmp_path / "games"
        for name in one_of_each:
            path = folder / name / FILE
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(whole(name)))
        for trial, content in contents.items():
            path = folder / "train" / "pick_and_place_simple-Mug-None-Desk-301" / trial / FILE
            path.parent.mkdir(parents=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return folder

    return write
