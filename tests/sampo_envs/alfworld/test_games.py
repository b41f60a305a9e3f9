"""Game files: names, types, order, archives."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from sampo.errors import MissingDataError
from sampo_envs.alfworld.games import FILE, FolderGames, ZipGames, task_type, zip_of

NAMES = [f"train/pick_and_place_simple-Mug-None-Desk-{number}/trial_1" for number in range(6)]
LEFT_OUT = [
    "train/pick_and_place_with_movable_recep-Pen-Mug-Desk-301/trial_1",
    "train/pick_heat_then_place_in_recep-AppleSliced-None-Desk-3/trial_1",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES + LEFT_OUT + ["other/a-b-c-d-1/trial_1"]:
        path = tmp_path / "games" / name / FILE
        path.parent.mkdir(parents=True)
        path.write_text(name)
    return tmp_path / "games"


def make_tar(folder: Path, target: Path) -> None:
    with tarfile.open(target, "w:xz") as archive:
        archive.add(folder, "json_2.1.1")


def test_a_folder_and_its_archives_hold_the_same(folder: Path, tmp_path: Path) -> None:
    make_tar(folder, tmp_path / "games.tar.xz")
    repacked = zip_of(tmp_path / "games.tar.xz", tmp_path / "cache")
    assert zip_of(repacked, tmp_path / "cache") == repacked
    collections = [FolderGames(folder), ZipGames(repacked)]
    for games in collections:
        assert set(games.splits["train"]) == set(NAMES)
        assert games.splits["valid_seen"] == ()
        assert [games.read(name).decode() for name in NAMES] == NAMES
    assert collections[0].splits == collections[1].splits
    # The order is that of the hash of the names, not of the names.
    assert list(collections[0].splits["train"]) != sorted(NAMES)


def test_an_archive_is_repacked_once(folder: Path, tmp_path: Path) -> None:
    make_tar(folder, tmp_path / "games.tar.xz")
    first = zip_of(tmp_path / "games.tar.xz", tmp_path / "cache")
    made = first.stat().st_mtime_ns
    assert zip_of(tmp_path / "games.tar.xz", tmp_path / "cache").stat().st_mtime_ns == made
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".zip"]


@pytest.mark.parametrize("keep", [0, 100])
def test_a_broken_archive_is_named(folder: Path, tmp_path: Path, keep: int) -> None:
    make_tar(folder, tmp_path / "games.tar.xz")
    whole = (tmp_path / "games.tar.xz").read_bytes()
    (tmp_path / "games.tar.xz").write_bytes(whole[:keep])
    with pytest.raises(MissingDataError, match=r"games\.tar\.xz cannot be unpacked"):
        zip_of(tmp_path / "games.tar.xz", tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_damaged_entry_of_a_zip_file(tmp_path: Path) -> None:
    from sampo.errors import EnvFailure
    from sampo_envs.alfworld import read_game

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(f"{NAMES[0]}/{FILE}", "x" * 1000)
    content = bytearray(stream.getvalue())
    content[200] ^= 1
    (tmp_path / "games.zip").write_bytes(content)
    with pytest.raises(EnvFailure, match=rf"{NAMES[0]}/{FILE} cannot be read"):
        read_game(ZipGames(tmp_path / "games.zip"), NAMES[0])


def test_types() -> None:
    assert task_type(NAMES[0]) == "Pick"
    assert task_type("valid_seen/look_at_obj_in_light-Mug-None-DeskLamp-301/t") == "Look"
    assert task_type("train/wash_the_car-Car-None-Garage-1/t") == "Other"
