"""The report: right totals and intervals, and everything needed to repeat it."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from sampo.episode import Episode, StopReason, Turn
from sampo.evaluation import EvaluationSetup, evaluate_episodes, wilson_interval
from sampo.evaluation.report import package_versions


def played(task, success, task_type="", version=3, stop=StopReason.TERMINATED):
    turn = Turn(
        observation="o",
        reply="r",
        action="a",
        reward=float(success),
        action_ids=(1, 2),
        policy_version=version,
    )
    return Episode(
        task=task, seed=0, turns=(turn,), success=success, stop_reason=stop, task_type=task_type
    )


SETUP = EvaluationSetup(
    split="val",
    seed=7,
    sampling={"temperature": 0.6, "top_p": 0.95},
    checkpoint="runs/last.ckpt",
    config={"model": {"lr": 1e-4}},
    packages={"torch": "2.13.0"},
)


def shown(report):
    out = StringIO()
    Console(width=100, file=out).print(report.table())
    return out.getvalue()


def test_report_of_several_samples_per_task():
    episodes = [
        *[played("a", True, "pick") for _ in range(4)],
        *[played("b", s, "pick") for s in (True, True, False, False)],
        *[played("c", False, "look", version=2) for _ in range(4)],
        played("c", True, "look", stop=StopReason.ERROR),
    ]
    report = evaluate_episodes(episodes, SETUP)
    assert report.totals["success_rate"] == 0.5
    assert report.totals["failed_episodes"] == 1
    assert (report.tasks, report.samples_per_task, report.policy_version) == (3, 4.0, 2)
    assert report.pass_at == {1: 0.5, 2: pytest.approx((1 + 5 / 6) / 3), 4: pytest.approx(2 / 3)}
    # Design effect 8/3, worked out in test_intervals: 12 samples count as 4.5.
    assert (report.success_low, report.success_high) == pytest.approx(wilson_interval(2.25, 4.5))
    pick, look = report.per_type["pick"], report.per_type["look"]
    assert (pick.successes, pick.episodes, pick.success_rate) == (6, 8, 0.75)
    # One task whose four samples agree counts as one sample.
    assert (look.low, look.high) == pytest.approx(wilson_interval(0, 1))


def test_json_holds_everything_needed_to_repeat_it():
    report = evaluate_episodes([played("a", True), played("b", False)], SETUP)
    data = json.loads(report.to_json())
    assert data["setup"] == {
        "split": "val",
        "seed": 7,
        "sampling": {"temperature": 0.6, "top_p": 0.95},
        "checkpoint": "runs/last.ckpt",
        "config": {"model": {"lr": 1e-4}},
        "packages": {"torch": "2.13.0"},
    }
    assert data["totals"]["success_rate"] == 0.5
    assert data["tasks"] == 2
    assert data["samples_per_task"] == 1.0
    assert data["confidence"] == 0.95
    assert "Wilson" in data["interval_method"]


def test_json_stays_json_when_nothing_could_be_counted():
    report = evaluate_episodes([played("a", True, stop=StopReason.ERROR)], SETUP)
    data = json.loads(report.to_json(), parse_constant=pytest.fail)
    assert data["totals"]["success_rate"] is None
    assert (data["success_low"], data["success_high"]) == (0.0, 1.0)
    assert (data["tasks"], data["policy_version"]) == (0, -1)


def test_table_shows_rate_interval_and_types():
    text = shown(evaluate_episodes([played("a", True, "pick"), played("b", True, "pick")], SETUP))
    low, high = wilson_interval(2, 2)
    assert "2 val tasks" in text
    assert f"{low:.3f} to {high:.3f}" in text
    assert "pick (2)" in text
    assert "turn-weighted score" in text


def test_metrics_of_the_environment_are_means_over_the_episodes_that_have_them():
    many = [
        replace(played("a", True), metrics={"calls": 2.0, "late": 1.0}),
        replace(played("b", False), metrics={"calls": 0.0}),
        replace(played("c", False, stop=StopReason.ERROR), metrics={"calls": 9.0}),
    ]
    report = evaluate_episodes(many, SETUP)
    assert report.env_metrics == {"calls": 1.0, "late": 1.0}
    assert "env: calls" in shown(report)


def test_versions_of_installed_packages_only():
    versions = package_versions(["torch", "no-such-package-here"])
    assert list(versions) == ["torch"]


def test_table_shows_pass_at_k_only_where_tasks_were_sampled_several_times():
    twice = [played("a", True), played("a", False), played("b", False), played("b", False)]
    text = shown(evaluate_episodes(twice, SETUP))
    assert "avg@2" in text and "pass@2" in text and "0.250" in text
    once = shown(evaluate_episodes([played("a", True), played("b", False)], SETUP))
    assert "avg@" not in once and "pass@" not in once
    uneven = evaluate_episodes([played("a", True), *twice[2:]], SETUP)
    assert uneven.pass_at == {1: 0.5}
