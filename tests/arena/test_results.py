"""The figures of a run, from files as a run leaves them."""

import json

import pytest

from sampo.arena.dials import dials_of
from sampo.arena.results import area, collapsed_at, read_run
from sampo.view.curves import Curve


def curve(values):
    return Curve(steps=tuple(values), values=tuple(values.values()))


def test_area_by_hand():
    # (0.2 + 0.6) / 2 * 10 + 0.6 * 5, over 15.
    assert area(curve({0: 0.2, 10: 0.6, 15: 0.6})) == pytest.approx(7 / 15)
    assert area(curve({3: 0.4})) == 0.4


@pytest.mark.parametrize(
    ("values", "when"),
    [
        ({0: 0.2, 10: 0.8, 20: 0.4}, None),  # half is not below half
        ({0: 0.2, 10: 0.8, 20: 0.3, 30: 0.1}, 20),
        ({0: 0.2, 10: 0.8, 20: 0.3, 30: 0.5}, None),  # it got over it
        ({0: 0.0, 10: 0.0}, None),
        ({0: 0.5}, None),
    ],
)
def test_collapse(values, when):
    assert collapsed_at(curve(values)) == when


def test_a_run(write, finish, tmp_path):
    run = write().runs()[0]
    finish(
        tmp_path,
        {0: 0.25, 10: 0.75},
        test=0.5,
        cost__sampled_tokens=2e6,
        cost__successes=500,
        cost__episodes=1000,
        cost__rollout_s=10,
        cost__update_s=20,
        train__ref_kl=0.125,
    )
    alarms = [{"step": 3, "stage": "warning"}, {"step": 7, "stage": "collapsing"}]
    (tmp_path / "fit" / "version_0" / "alarms.jsonl").write_text("\n".join(map(json.dumps, alarms)))
    result = read_run(run, tmp_path)
    assert (result.environment, result.method, result.seed) == ("sokoban", "grpo", 0)
    assert (result.start, result.end, result.best, result.area) == (0.25, 0.75, 0.75, 0.5)
    assert (result.test, result.ref_kl, result.updates) == (0.5, 0.125, 10)
    assert (result.alarmed_at, result.collapsed_at) == (7, None)
    assert (result.tokens, result.seconds) == (2e6, 30)
    assert result.success_per_million_tokens == 250
    assert result.valid_format is None


def test_a_run_that_was_stopped_and_went_on(write, finish, tmp_path):
    finish(tmp_path, {0: 0.2, 10: 0.4, 20: 0.1})
    finish(tmp_path, {20: 0.6, 30: 0.8}, version=1)
    result = read_run(write().runs()[0], tmp_path)
    assert result.curve.steps == (0, 10, 20, 30)
    assert result.curve.values == pytest.approx((0.2, 0.4, 0.6, 0.8))


def test_a_run_without_evaluations(write, tmp_path):
    assert read_run(write().runs()[0], tmp_path) is None


def test_dials(finish, tmp_path):
    assert dials_of(tmp_path) is None
    finish(tmp_path, {0: 0.5})
    assert dials_of(tmp_path) == {
        "aggregation": "token_mean",
        "ratio and clip": "turn Clip (clip_low 0.2), mask 0.003",
        "advantage": "GiGPO",
        "filter": "SpreadFilter, 3 rounds",
    }
