"""Translations, and where they are kept."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampo_envs.alfworld import open_games, read_game
from sampo_envs.alfworld.engine import ground, grounding, translate


@pytest.fixture
def texts(one_of_each: list[str]) -> tuple[str, str]:
    game = read_game(open_games("generated"), one_of_each[0])
    return game.domain, game.problem


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    yield tmp_path / "sampo" / "alfworld" / "groundings"


def kept(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


def test_the_second_time_it_comes_from_disk(texts, own_cache: Path, monkeypatch) -> None:
    first = ground(*texts)
    assert [path.suffix for path in kept(own_cache)] == [".z"]
    monkeypatch.setattr(grounding, "translate", None)
    assert ground(*texts) == first


def test_a_damaged_cache_is_mended(texts, own_cache: Path) -> None:
    first = ground(*texts)
    (path,) = kept(own_cache)
    whole = path.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"nonsense"):
        path.write_bytes(damaged)
        assert ground(*texts) == first
        assert path.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_done_without(texts, tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert ground(*texts).sas.startswith("begin_version")


def test_the_translator_leaves_no_traces(texts, capsys) -> None:
    arguments, output = list(sys.argv), sys.stdout
    translate(*texts)
    assert (sys.argv, sys.stdout) == (arguments, output)
    assert capsys.readouterr().out == ""
