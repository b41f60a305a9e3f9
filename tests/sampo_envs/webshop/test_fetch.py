"""Fetching, from a folder on this machine in place of the network."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

from sampo_envs.webshop import data_folder, fetch


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the made-up catalogue under the names of the small set."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    made_up = data_folder("made-up")
    for source in fetch.SETS["small"]:
        kind = next((p for p in made_up.iterdir() if p.name[:9] == source.name[:9]), None)
        if kind is not None and "human" not in source.name:
            shutil.copy(kind, folder / f"{source.name}.gz")
    small = tuple(source._replace(sha256=None) for source in fetch.SETS["small"])
    monkeypatch.setitem(fetch.SETS, "small", small)
    return folder


def run(mirror: Path, to: Path) -> int:
    return fetch.main(["small", "--to", str(to), "--from", mirror.as_uri()])


def test_it_says_what_it_got(mirror: Path, tmp_path: Path, capsys) -> None:
    assert run(mirror, tmp_path / "data") == 0
    said = capsys.readouterr().out
    assert "items_shuffle_1000.json.gz: 1" in said
    assert "items_human_ins.json: not at file://" in said
    assert "1175 synthetic goals; goals and splits are exactly made-up." in said
    assert run(mirror, tmp_path / "data") == 0
    assert "items_shuffle_1000.json.gz: is there already" in capsys.readouterr().out


def test_without_nouns_it_says_how_to_make_them(mirror: Path, tmp_path: Path, capsys) -> None:
    (mirror / f"{fetch.SETS['small'][3].name}.gz").unlink()
    assert run(mirror, tmp_path / "data") == 0
    assert "webshop.nouns" in capsys.readouterr().out


def test_a_missing_file_is_named(mirror: Path, tmp_path: Path, capsys) -> None:
    (mirror / "items_shuffle_1000.json.gz").unlink()
    assert run(mirror, tmp_path / "data") == 1
    assert "items_shuffle_1000.json cannot be had from file://" in capsys.readouterr().err


def test_a_web_page_is_not_taken_for_data(mirror: Path, tmp_path: Path, capsys) -> None:
    (mirror / "items_shuffle_1000.json.gz").write_bytes(gzip.compress(b"<html>Sign in</html>"))
    assert run(mirror, tmp_path / "data") == 1
    assert "is not JSON" in capsys.readouterr().err
    assert not list((tmp_path / "data").glob("items_shuffle*"))


def test_a_damaged_file_is_refused(mirror: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    expected = tuple(source._replace(sha256="0" * 64) for source in fetch.SETS["small"])
    monkeypatch.setitem(fetch.SETS, "small", expected)
    assert run(mirror, tmp_path / "data") == 1
    assert "damaged" in capsys.readouterr().err


def test_unknown_data_are_told_apart(mirror: Path, tmp_path: Path, capsys) -> None:
    path = mirror / "items_ins_v2_1000.json.gz"
    known = json.loads(gzip.decompress(path.read_bytes()))
    known.pop(next(iter(known)))
    path.write_bytes(gzip.compress(json.dumps(known).encode()))
    assert run(mirror, tmp_path / "data") == 0
    assert "not a catalogue that the manifest knows" in capsys.readouterr().out
