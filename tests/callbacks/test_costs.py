"""Running totals, checked against the rollouts they are made of."""

from pathlib import Path

import pytest

from sampo.callbacks import Costs
from sampo.data.group_rollout import Rollout
from tiny import save_tiny_policy
from training import make_data, make_module, make_trainer


def test_totals_are_those_of_all_rollouts(tmp_path: Path) -> None:
    policy = save_tiny_policy(tmp_path / "policy")
    costs, data = Costs(), make_data(policy)
    rollouts: list[Rollout] = []

    class Remember(Costs):
        def on_train_batch_end(self, trainer, *others):
            rollouts.append(trainer.datamodule.last_rollout)

    trainer = make_trainer(tmp_path, epochs=1, callbacks=[costs, Remember()])
    trainer.fit(make_module(policy), datamodule=data)
    episodes = [e for r in rollouts for group in r.all_groups for e in group.episodes]
    trained = [e for r in rollouts for group in r.groups for e in group.episodes]
    values = costs.values()
    assert values["env_steps"] == sum(len(e.turns) for e in episodes)
    assert values["sampled_tokens"] == sum(e.num_action_tokens for e in episodes)
    assert values["trained_tokens"] == sum(e.num_action_tokens for e in trained)
    assert values["discarded_tokens"] == values["sampled_tokens"] - values["trained_tokens"]
    assert values["successes"] == sum(e.success for e in episodes) > 0
    assert values["env_steps_per_success"] == pytest.approx(
        values["env_steps"] / values["successes"]
    )
    assert values["evaluation_s"] > 0 and values["update_s"] > 0
    resumed = Costs()
    resumed.load_state_dict(costs.state_dict())
    assert resumed.values() == values
    assert Costs().values() == {}
