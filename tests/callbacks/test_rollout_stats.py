"""What was rolled out is logged, and what is odd about it told once."""

import csv

import pytest

from sampo.advantages import ReMax
from sampo.callbacks.rollout_stats import RolloutStats
from sampo.envs import Corridor
from sampo.rollout.scripted_engine import ScriptedEngine

from .conftest import RIGHT, Bystander


def test_the_metrics_of_each_rollout_are_logged(fit, run_path, data):
    fit([RolloutStats()], max_epochs=1)
    with (run_path / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["rollout/reward"]]
    assert len(rows) == 2
    for name, value in data.last_rollout.stats.items():
        assert float(rows[-1][name]) == pytest.approx(value, rel=1e-5)


def test_updates_on_zeros_are_told_once(fit, data):
    data.player.engine = ScriptedEngine([RIGHT])
    with pytest.warns(
        UserWarning, match="of 3 updates in a row, up to update 2, are zero"
    ) as caught:
        fit([RolloutStats()], max_epochs=4)
    (told,) = [str(w.message) for w in caught if "advantages" in str(w.message)]
    assert "worth the same to GRPO" in told


def test_zeros_of_an_estimator_that_compares_no_episodes_are_a_result(fit, data):
    """Every episode is like its greedy one."""
    data.player.engine = ScriptedEngine([RIGHT])
    data.advantage = ReMax()
    fit([RolloutStats()], max_epochs=1)
    assert data.last_rollout.baselines


class Broken(Corridor):
    def step(self, action):
        if self._position == 3:
            raise RuntimeError("no floor")
        return super().step(action)


def test_failed_episodes_are_told_once(fit, data):
    data.player.env = Broken(length=7, max_turns=2)
    module = Bystander()
    with pytest.warns(UserWarning, match=r"failed twice and are left out.*no floor") as caught:
        fit([RolloutStats()], module=module)
    assert len([w for w in caught if "failed twice" in str(w.message)]) == 1
    assert module.steps == 4
