"""A disk that is full or read-only: one sentence, nothing lost, and the run goes on afterwards.

The disks are real (tmpfs of some kilobytes), so these tests need to be root.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampo.callbacks import Checkpoints
from sampo.checkpoint import load_checkpoint
from sampo.cli import main
from sampo.errors import CheckpointError
from small_run import small
from tiny import save_tiny_policy
from training import make_data, make_module, make_trainer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() != 0 or not Path("/proc/filesystems").exists(),
        reason="mounting a small disk needs root on Linux",
    ),
]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return where a small disk can be mounted; whatever is mounted there goes at the end."""
    place = tmp_path / "disk"
    place.mkdir()
    yield place
    while os.path.ismount(place):
        subprocess.run(["umount", str(place)], check=True)


def mount(place: Path, options: str) -> None:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this root may not mount a tmpfs")


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


def options(policy: str, disk: Path) -> list[str]:
    return ["fit", "--config=quickstart", *small(policy, disk, epochs=2)]


@pytest.mark.parametrize("kilobytes", [4, 20, 40, 100, 700, 900, 1000, 1100, 1200, 1300])
def test_a_full_disk(
    policy: str, disk: Path, kilobytes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """It fills up at another place each time: config, curves, episodes, checkpoints, the export."""
    mount(disk, f"size={kilobytes}k")
    with pytest.raises(SystemExit) as stop:
        main(options(policy, disk))
    assert stop.value.code == 1
    *_, sentence = capsys.readouterr().err.strip().splitlines()
    assert sentence.startswith("sampo: error: ")
    assert "No space left on device" in sentence and "Free some space" in sentence
    found = list(disk.glob("*/*/checkpoints/last.ckpt"))
    done = load_checkpoint(found[0])["sampo"]["update_step"] if found else 0
    assert not list(disk.glob("*/*/checkpoints/.*"))

    subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
    main([*options(policy, disk), *(["--ckpt_path=last"] if found else [])])
    newest = max(disk.glob("*/*/checkpoints/last.ckpt"), key=lambda path: path.stat().st_mtime)
    assert load_checkpoint(newest)["sampo"]["update_step"] == 4
    assert done < 4 or found


def test_a_read_only_disk(policy: str, disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mount(disk, "size=20m,ro")
    with pytest.raises(SystemExit) as stop:
        main(options(policy, disk))
    assert stop.value.code == 1
    *_, sentence = capsys.readouterr().err.strip().splitlines()
    assert "Read-only file system" in sentence and str(disk) in sentence


def test_a_folder_that_turns_read_only(
    policy: str, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first update nothing more can be written to `checkpoints`."""
    mount(disk, "size=20m")
    folder = disk / "version_0" / "checkpoints"
    save = Checkpoints._save
    saved: list[str] = []

    def save_on_a_failing_disk(self: Checkpoints, trainer: object, name: str) -> Path:
        if saved:
            subprocess.run(["mount", "--bind", str(folder), str(folder)], check=True)
            subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
        path = save(self, trainer, name)  # pyright: ignore[reportArgumentType]
        saved.append(name)
        return path

    monkeypatch.setattr(Checkpoints, "_save", save_on_a_failing_disk)
    try:
        with pytest.raises(CheckpointError, match="Read-only file system"):
            make_trainer(disk, epochs=1).fit(make_module(policy), datamodule=make_data(policy))
        assert saved == ["last.ckpt"]
        assert load_checkpoint(folder / "last.ckpt")["sampo"]["update_step"] == 1
    finally:  # `ismount` does not see that a folder is mounted on itself
        subprocess.run(["umount", str(folder)], check=False, capture_output=True)
