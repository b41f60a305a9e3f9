"""What a person sees while a run goes on."""

import re

from sampo.callbacks.progress import RunProgress
from sampo.callbacks.rollout_stats import RolloutStats

from .conftest import Bystander


def test_a_log_file_gets_few_lines(fit, capsys):
    fit([RolloutStats(), RunProgress(seconds_between_lines=3600)], max_epochs=3)
    out = capsys.readouterr().out
    lines = [line for line in out.splitlines() if line.startswith(("update", "evaluation"))]
    assert [line.partition(":")[0] for line in lines] == [
        "evaluation after 0 updates",
        "update 1/6",
        "evaluation after 2 updates",
        "evaluation after 4 updates",
        "update 6/6",
        "evaluation after 6 updates",
    ]
    assert "\r" not in out
    assert "\x1b" not in out


def test_lines_hold_the_short_names(fit, capsys, data):
    fit([RolloutStats(), RunProgress(seconds_between_lines=0)], max_epochs=1)
    last = re.search(r"update 2/2: (.*)", capsys.readouterr().out)
    assert last is not None
    words = dict(word.split(" ") for word in last.group(1).split("  "))
    stats = data.last_rollout.stats
    assert words["success"] == f"{stats['rollout/success_rate']:.3g}"
    assert words["reward"] == f"{stats['rollout/reward']:.3g}"
    assert words["valid"] == "1"
    assert words["kl"] == "0.0125"


def test_a_terminal_gets_one_bar(fit, capsys, monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "200")
    fit([RolloutStats(), RunProgress()], max_epochs=2)
    out = capsys.readouterr().out
    assert "4/4" in out
    assert "kl 0.0125" in out
    assert "evaluating" in out
    assert "update 4/4:" not in out


def test_the_terminal_is_given_back_after_a_crash(fit, capsys, monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    hide, show = "\x1b[?25l", "\x1b[?25h"
    try:
        fit([RunProgress()], module=Bystander(fail_at=1))
    except SystemExit:
        out = capsys.readouterr().out
    assert hide in out
    assert out.rindex(show) > out.rindex(hide)


def test_other_ranks_show_nothing(fit, capsys):
    progress = RunProgress(seconds_between_lines=0)
    progress.disable()
    fit([progress], max_epochs=1)
    assert "update" not in capsys.readouterr().out
