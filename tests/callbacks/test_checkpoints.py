"""What is kept, and what happens when it cannot be written."""

import os
import signal
from pathlib import Path

import lightning as L
import pytest

from sampo.callbacks import Checkpoints, checkpoints
from sampo.checkpoint import load_checkpoint
from sampo.errors import CheckpointError, ConfigError
from tiny import save_tiny_policy
from training import make_data, make_module, make_trainer


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


def fit(
    policy: str,
    folder: Path,
    callback: Checkpoints,
    epochs: int = 1,
    watcher: L.Callback | None = None,
    ckpt_path: str | None = None,
) -> Path:
    trainer = make_trainer(folder, epochs=epochs)
    trainer.callbacks = [c for c in trainer.callbacks if not isinstance(c, Checkpoints)]
    trainer.callbacks += [callback] if watcher is None else [watcher, callback]
    trainer.fit(make_module(policy), datamodule=make_data(policy), ckpt_path=ckpt_path)
    return folder / "version_0"


def test_the_best_evaluation_is_kept(policy: str, tmp_path: Path) -> None:
    callback = Checkpoints(every_n_updates=100)
    run = fit(policy, tmp_path, callback, epochs=2)
    best = load_checkpoint(run / "checkpoints" / "best.ckpt")
    assert best["sampo"]["update_step"] in (3, 6)
    assert callback.best is not None
    last = load_checkpoint(run / "checkpoints" / "last.ckpt")
    assert last["sampo"]["update_step"] == 6
    assert not list((run / "checkpoints").glob(".*"))


def test_nothing_is_exported_or_monitored_unless_asked(policy: str, tmp_path: Path) -> None:
    run = fit(policy, tmp_path, Checkpoints(monitor=None, export=False))
    assert not (run / "hf").exists()
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["last.ckpt"]


def test_a_scheduler_that_ends_the_run_gets_a_checkpoint(policy: str, tmp_path: Path) -> None:
    """SIGTERM comes in the second update; Lightning ends the run when that one is done."""

    class Scheduler(L.Callback):
        def on_train_batch_start(self, trainer, pl_module, batch, batch_idx) -> None:
            if pl_module.update_step == 1:
                os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit):
        fit(policy, tmp_path, Checkpoints(every_n_updates=100), watcher=Scheduler())
    last = tmp_path / "version_0" / "checkpoints" / "last.ckpt"
    assert load_checkpoint(last)["sampo"]["update_step"] == 2


def test_never_is_no_interval() -> None:
    with pytest.raises(ConfigError, match="every_n_updates must be at least 1, got 0"):
        Checkpoints(every_n_updates=0)


def test_other_versions_are_told_when_a_run_goes_on(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "versions", lambda: {"torch": "1.0"})
    fit(policy, tmp_path, Checkpoints())
    with pytest.warns(UserWarning, match=r"written with torch 1\.0 \(now"):
        fit(policy, tmp_path, Checkpoints(), epochs=2, ckpt_path="last")


def test_an_unknown_metric_is_named_with_those_that_exist(policy: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"'eval/succes'.*eval/success_rate"):
        fit(policy, tmp_path, Checkpoints(monitor="eval/succes"))


def test_a_checkpoint_that_cannot_be_written_leaves_the_last_one(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace
    written: list[Path] = []

    def full_disk(self: Path, target: Path) -> Path:
        if "checkpoints" in self.parts and len(written) == 1:
            raise OSError(28, "No space left on device")
        written.append(self)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(CheckpointError, match="No space left on device"):
        fit(policy, tmp_path, Checkpoints())
    last = tmp_path / "version_0" / "checkpoints" / "last.ckpt"
    assert load_checkpoint(last)["sampo"]["update_step"] == 1
