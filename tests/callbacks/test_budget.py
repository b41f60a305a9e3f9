"""A budget ends a run after the update that uses it up, also a run that was stopped before."""

import pytest

from sampo.callbacks import Budget, Costs
from sampo.errors import ConfigError


@pytest.mark.parametrize(
    ("budget", "updates"),
    [({"updates": 3}, 3), ({"episodes": 1}, 1), ({"tokens": 1}, 1), ({}, 8), ({"updates": 99}, 8)],
)
def test_the_update_that_uses_it_up_is_the_last(fit, data, budget, updates):
    fit([Costs(), Budget(**budget)], max_epochs=4)
    assert data.update == updates


def test_everything_that_was_played_counts(fit, data):
    costs = Costs()
    fit([costs, Budget(episodes=9)], max_epochs=4)
    assert costs.totals["episodes"] >= 9
    rollout = data.last_rollout
    last = sum(len(group.episodes) for group in rollout.groups_as_played) + len(rollout.failed)
    assert costs.totals["episodes"] - last < 9


def test_it_needs_the_counts(fit):
    with pytest.raises(ConfigError, match=r"sampo\.callbacks\.Costs counts; add it before it"):
        fit([Budget(episodes=1)])


def test_a_budget_of_nothing_is_refused():
    with pytest.raises(ConfigError, match=r"Budget\.tokens must be at least 1"):
        Budget(tokens=0)
