"""Where games are looked for."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sampo.errors import MissingDataError
from sampo_envs.alfworld import AlfworldEnv, open_games


def test_a_folder_with_or_without_the_releases_name(write_games: Callable[..., Path]) -> None:
    folder = write_games()
    assert len(open_games(str(folder)).splits["train"]) == 6
    inner = folder.parent / "data" / "json_2.1.1"
    shutil.move(folder, inner)
    assert len(open_games(str(inner.parent)).splits["train"]) == 6


def test_an_archive_or_a_folder_with_one(write_games: Callable[..., Path], tmp_path: Path) -> None:
    folder = write_games()
    archive = shutil.make_archive(str(tmp_path / "kept" / "games"), "xztar", folder.parent, "games")
    for place in (archive, str(tmp_path / "kept")):
        assert len(AlfworldEnv(data=place).tasks("train")) == 6


def test_the_variable_says_what_fetched_is(write_games, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("SAMPO_ALFWORLD_DATA", str(write_games()))
    assert len(open_games("fetched").splits["train"]) == 6
    monkeypatch.delenv("SAMPO_ALFWORLD_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "empty"))
    with pytest.raises(MissingDataError) as caught:
        open_games("fetched")
    said = str(caught.value)
    assert str(tmp_path / "empty" / "sampo" / "alfworld" / "json_2.1.3_tw-pddl.zip") in said
    assert "python -m sampo_envs.alfworld.fetch" in said and said.count(". ") == 1


def test_an_archive_without_games_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "stuff").mkdir()
    (tmp_path / "stuff" / "readme.txt").write_text("hello")
    shutil.make_archive(str(tmp_path / "stuff"), "zip", tmp_path / "stuff")
    with pytest.raises(MissingDataError, match="there are no games"):
        open_games(str(tmp_path / "stuff.zip"))
