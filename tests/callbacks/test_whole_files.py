"""What is on the disk after a checkpoint was written, or could not be."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from sampo.callbacks.whole_files import WholeFileIO, save_checkpoint
from sampo.errors import CheckpointError


@contextmanager
def small_files() -> Iterator[None]:
    """Let the system refuse files of more than 20 kB, as a full disk would.

    Not a fixture: pytest reports a test, maybe into a longer file, before fixtures end.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_replaces_the_earlier_one_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "new" / "last.ckpt"
    WholeFileIO().save_checkpoint({"number": 1}, path)
    WholeFileIO().save_checkpoint({"number": 2}, path)
    assert torch.load(path, weights_only=True) == {"number": 2}
    assert [file.name for file in path.parent.iterdir()] == ["last.ckpt"]


def test_the_disk_has_the_file_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut after any of these steps leaves the earlier file or the new one, whole."""
    steps: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def noted_fsync(descriptor: int) -> None:
        steps.append(f"fsync {Path(f'/proc/self/fd/{descriptor}').readlink().name}")
        fsync(descriptor)

    def noted_replace(self: Path, target: Path) -> Path:
        steps.append(f"rename to {target.name}")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    WholeFileIO().save_checkpoint({}, tmp_path / "last.ckpt")
    assert steps == ["fsync .last.ckpt.part", "rename to last.ckpt", f"fsync {tmp_path.name}"]


def test_a_file_that_does_not_fit_is_told_and_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "last.ckpt"
    WholeFileIO().save_checkpoint({"number": 1}, path)
    refused = pytest.raises(CheckpointError, match=r"could not be written \(File too large")
    with refused, small_files():
        WholeFileIO().save_checkpoint({"weights": torch.zeros(100_000)}, path)
    assert torch.load(path, weights_only=True) == {"number": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["last.ckpt"]


class Rank:
    """A trainer of one of two ranks, as far as a checkpoint needs it; it is its own strategy."""

    def __init__(self, mine: CheckpointError | None, told: CheckpointError | None) -> None:
        self.mine, self.told = mine, told
        self.calls: list[str] = []
        self.strategy = self

    def save_checkpoint(self, path: Path, weights_only: bool) -> None:
        if self.mine is not None:
            raise self.mine
        self.calls.append("barrier")  # as Lightning's ends

    def barrier(self, name: str) -> None:
        self.calls.append("barrier")

    def broadcast(self, error: CheckpointError | None) -> CheckpointError | None:
        self.calls.append("broadcast")
        return self.told


def test_all_ranks_take_the_same_way_when_the_first_one_cannot_write(tmp_path: Path) -> None:
    """Rank 0 fails before the barrier in which rank 1 waits already."""
    error = CheckpointError("full")
    for mine in (error, None):
        rank = Rank(mine, error)
        with pytest.raises(CheckpointError, match="full"):
            save_checkpoint(rank, tmp_path / "last.ckpt")  # pyright: ignore[reportArgumentType]
        assert rank.calls == ["barrier", "broadcast"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointError, match="Free some space or set another"):
        WholeFileIO().save_checkpoint({}, tmp_path / "file" / "last.ckpt")
