"""The wheel holds both packages with their data, and nothing else; it works away from the repo."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout and unpacked far from it."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("sampo-*-py3-none-any.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def files(folder: Path) -> set[str]:
    """Return the paths of all files in a folder, caches left out."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def run(site: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run Python on the unpacked wheel, in its parent folder."""
    return subprocess.run(
        [sys.executable, *args],
        cwd=site.parent,
        env={**os.environ, "PYTHONPATH": str(site)},  # wins over an editable install
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


@pytest.mark.slow
def test_the_wheel_holds_both_packages_and_the_configs_and_nothing_else(unpacked: Path) -> None:
    expected = {f"sampo/{name}" for name in files(REPOSITORY / "src" / "sampo")}
    expected |= {f"sampo_envs/{name}" for name in files(REPOSITORY / "envs" / "sampo_envs")}
    expected |= {f"sampo/configs/{name}" for name in files(REPOSITORY / "configs")}
    assert {name for name in files(unpacked) if ".dist-info/" not in name} == expected
    assert {"sampo/py.typed", "sampo_envs/py.typed", "sampo/configs/quickstart.yaml"} <= expected


@pytest.mark.slow
def test_its_metadata_names_command_licence_and_the_bad_releases(unpacked: Path) -> None:
    (info,) = unpacked.glob("*.dist-info")
    metadata = (info / "METADATA").read_text()
    assert "sampo = sampo.__main__:main" in (info / "entry_points.txt").read_text()
    assert "License-Expression: Apache-2.0" in metadata
    assert (info / "licenses" / "LICENSE").is_file()
    (lightning,) = [line for line in metadata.splitlines() if "Requires-Dist: lightning" in line]
    assert "!=2.6.2" in lightning
    assert "!=2.6.3" in lightning


@pytest.mark.slow
def test_it_runs_away_from_the_repository(unpacked: Path) -> None:
    where = run(unpacked, "-c", "import sampo, sampo_envs; print(sampo.__file__)")
    assert where.stdout.strip() == str(unpacked / "sampo" / "__init__.py")
    resolved = run(unpacked, "-m", "sampo", "fit", "--config", "quickstart", "--print_config")
    assert resolved.returncode == 0, resolved.stderr
    assert "sampo_envs.sokoban" in resolved.stdout
