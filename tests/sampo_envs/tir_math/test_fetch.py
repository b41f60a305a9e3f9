"""The fetch command, against a folder that plays the origin."""

import hashlib
from pathlib import Path

import pytest

from sampo_envs.tir_math import fetch
from sampo_envs.tir_math.fetch import Source


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "origin"
    folder.mkdir()
    sources = {}
    for name in ("math35_train", "aime24"):
        (folder / f"{name}.raw").write_bytes(name.encode())
        digest = hashlib.sha256(name.encode()).hexdigest()
        sources[name] = Source(path=f"{name}.raw", rows=30, sha256=digest)
    monkeypatch.setattr(fetch, "SOURCES", sources)
    return folder


def run(origin: Path, *names: str) -> int:
    return fetch.main([*names, "--to", str(origin.parent / "to"), "--origin", origin.as_uri()])


def test_brings_all_or_what_was_named(origin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    to = origin.parent / "to"
    assert run(origin, "aime24") == 0
    assert [path.name for path in to.iterdir()] == ["aime24.parquet"]
    assert run(origin) == 0
    assert (to / "math35_train.parquet").read_bytes() == b"math35_train"
    assert (
        capsys.readouterr().out.splitlines()[-1] == f"{to}/aime24.parquet: 30 problems (was there)"
    )


def test_failures_are_one_sentence(origin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (origin / "aime24.raw").write_bytes(b"changed")
    assert run(origin, "aime24") == 1
    assert "it has changed or was cut off" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(origin, "aime23")
    assert "no data set 'aime23'; there are math35_train, aime24" in capsys.readouterr().err
