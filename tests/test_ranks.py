"""How ranks end: one sentence of one of them. Whole runs are in tests/distributed."""

import logging
import os

import pytest

from sampo import ranks
from sampo.errors import ConfigError, RankError
from sampo.world import _SHARED


@pytest.fixture
def on_rank_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks.rank_zero_only, "rank", 1)
    monkeypatch.setattr(ranks, "_GRACE_S", 0.0)


def said(capsys: pytest.CaptureFixture[str], error: Exception) -> str:
    with pytest.raises(SystemExit) as stopped:
        ranks.fail_as_rank("It broke.", error)
    assert stopped.value.code == 1
    return capsys.readouterr().err


def test_the_first_rank_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, ConfigError("It broke.")) == "sampo: error: It broke.\n"


def test_others_say_what_only_they_know(on_rank_1: None, capsys) -> None:
    assert said(capsys, ConfigError("x")) == "sampo: error: [rank 1] It broke.\n"
    assert said(capsys, RankError("x")) == "sampo: error: It broke.\n"  # names the rank itself


def test_others_are_silent_about_what_all_raise(on_rank_1: None, capsys) -> None:
    error = ConfigError("x")
    error.add_note(f"{_SHARED} 0.")
    assert said(capsys, error) == ""


def test_others_are_silent_once_the_launcher_is_gone(
    on_rank_1: None, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    parents = iter([100, 1])
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    assert said(capsys, ConfigError("x")) == ""


def test_lightnings_last_words_say_what_to_do() -> None:
    record = logging.LogRecord(
        "x",
        logging.INFO,
        "",
        0,
        "[rank: 1] Child process with PID 7 terminated with code -9. Forcefully terminating all "
        "other processes to avoid zombies 🧟",
        (),
        None,
    )
    assert ranks._say_what_to_do(record)
    assert record.getMessage() == (
        "sampo: error: [rank: 1] Child process with PID 7 terminated with code -9, so the whole "
        "run ends. Go on from the last checkpoint with --ckpt_path last."
    )
