"""Fetching, from a folder on this machine in place of the network."""

import hashlib
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sampo_envs.alfworld import fetch, open_games


@pytest.fixture
def mirror(write_games: Callable[..., Path], tmp_path: Path, monkeypatch) -> Path:
    """A zip file of six games, taken for the release."""
    folder = write_games()
    made = shutil.make_archive(str(tmp_path / "mirror" / "games"), "zip", folder)
    digest = hashlib.sha256(Path(made).read_bytes()).hexdigest()
    monkeypatch.setattr(fetch, "SHA256", digest)
    return Path(made)


def test_it_says_what_it_got(mirror: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.delenv("SAMPO_ALFWORLD_DATA", raising=False)
    assert fetch.main(["--from", mirror.as_uri()]) == 0
    said = capsys.readouterr().out
    assert f"SHA-256 {fetch.SHA256} as known\n" in said
    assert "train: 6 games, not the official 3553" in said
    assert "valid_unseen: no games (officially 134)" in said
    assert said.endswith("Play them with data=fetched.\n")
    assert len(open_games("fetched").splits["train"]) == 6
    assert fetch.main(["--from", mirror.as_uri()]) == 0
    assert "as known, was there" in capsys.readouterr().out


def test_a_damaged_file_is_refused(mirror: Path, tmp_path: Path, capsys) -> None:
    mirror.write_bytes(mirror.read_bytes()[:-100])
    target = tmp_path / "data" / "games.zip"
    assert fetch.main(["--from", mirror.as_uri(), "--to", str(target)]) == 1
    assert f"not {fetch.SHA256}: it has changed or was cut off" in capsys.readouterr().err
    assert not target.exists()


def test_no_network_is_one_sentence(tmp_path: Path, capsys) -> None:
    source = (tmp_path / "nothing.zip").as_uri()
    assert fetch.main(["--from", source, "--to", str(tmp_path / "x.zip")]) == 1
    said = capsys.readouterr().err
    assert f"{source} could not be fetched to" in said and "Traceback" not in said


def test_what_is_there_already_is_looked_at(mirror: Path, capsys) -> None:
    assert fetch.main(["--from", str(mirror)]) == 0
    said = capsys.readouterr().out
    assert "is there already" in said and "train: 6 games" in said
    assert f"SAMPO_ALFWORLD_DATA={mirror}" in said


def test_the_release_of_the_known_games() -> None:
    assert fetch.URL.endswith("/0.4.2/json_2.1.3_tw-pddl.zip")
    assert len(fetch.SHA256) == 64
    assert zipfile.is_zipfile(open_games("generated")._file)
