"""One folder per launch, and never an old one."""

import lightning as L
import pytest
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from lightning.pytorch.loggers.logger import DummyLogger

from sampo.callbacks.run_folder import run_folder, runs_folder


def trainer(tmp_path, logger):
    return L.Trainer(
        default_root_dir=tmp_path,
        accelerator="cpu",
        logger=logger,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )


@pytest.mark.parametrize("kind", [TensorBoardLogger, CSVLogger])
def test_it_is_the_folder_of_the_first_logger(tmp_path, kind):
    logger = kind(tmp_path, name="sampo")
    run = trainer(tmp_path, [logger, CSVLogger(tmp_path, name="other")])
    assert run_folder(run) == tmp_path / "sampo" / "version_0"
    assert run_folder(run).is_dir()
    assert runs_folder(run) == tmp_path / "sampo"


@pytest.mark.parametrize("make_logger", [lambda: False, DummyLogger])
def test_without_a_folder_from_the_logger_it_is_numbered_here(tmp_path, make_logger):
    (tmp_path / "version_7").mkdir()
    (tmp_path / "version_old").mkdir()
    assert run_folder(trainer(tmp_path, make_logger())) == tmp_path / "version_8"


@pytest.mark.parametrize("make_logger", [lambda path: False, lambda path: CSVLogger(path)])
def test_a_second_launch_gets_another_folder(tmp_path, make_logger):
    first = run_folder(trainer(tmp_path, make_logger(tmp_path)))
    (first / "metrics.csv").write_text("kept")
    second = run_folder(trainer(tmp_path, make_logger(tmp_path)))
    assert (first.name, second.name) == ("version_0", "version_1")
    assert first.parent == second.parent


def test_one_launch_keeps_its_folder(tmp_path):
    run = trainer(tmp_path, False)
    assert run_folder(run) == run_folder(run)
    assert [path.name for path in tmp_path.iterdir()] == ["version_0"]


def test_the_folder_of_all_runs_makes_nothing(tmp_path):
    assert runs_folder(trainer(tmp_path / "new", False)) == tmp_path / "new"
    assert not (tmp_path / "new").exists()
