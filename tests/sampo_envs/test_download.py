"""Downloads, from file addresses: whole and right, or not there."""

import hashlib
from pathlib import Path

import pytest

from sampo.errors import MissingDataError
from sampo_envs.download import download

CONTENT = b"rows" * 1000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def url(tmp_path: Path) -> str:
    (tmp_path / "origin").write_bytes(CONTENT)
    return (tmp_path / "origin").as_uri()


def test_brings_a_file_once_and_mends_a_broken_one(url: str, tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file.bin"
    assert download(url, target, DIGEST) and target.read_bytes() == CONTENT
    assert not download(url, target, DIGEST)
    target.write_bytes(b"broken")
    assert download(url, target, DIGEST) and target.read_bytes() == CONTENT
    assert [path.name for path in target.parent.iterdir()] == ["file.bin"]


def test_without_a_known_digest_the_first_file_stays(url: str, tmp_path: Path) -> None:
    target = tmp_path / "file.bin"
    assert download(url, target, None) and target.read_bytes() == CONTENT
    target.write_bytes(b"mine")
    assert not download(url, target, None) and target.read_bytes() == b"mine"


def test_other_content_is_refused_and_not_kept(url: str, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=f"has the SHA-256 {DIGEST}, not 00"):
        download(url, tmp_path / "to" / "file", "00")
    assert not list((tmp_path / "to").iterdir())


def test_what_cannot_be_had_is_said(tmp_path: Path) -> None:
    missing = (tmp_path / "nothing").as_uri()
    with pytest.raises(MissingDataError, match=r"nothing could not be fetched to .*file: "):
        download(missing, tmp_path / "to" / "file", DIGEST)
    assert not list((tmp_path / "to").iterdir())
