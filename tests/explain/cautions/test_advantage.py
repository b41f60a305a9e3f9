"""Cautions about dial 3: what triggers each, and what does not."""

from typing import Any

import pytest

from sampo.advantages import GAE, GRPO, RLOO, GiGPO, KLReward, ReMax, TurnReward, TurnScore, Whiten
from sampo.explain.cautions import advantage as rules
from sampo.losses import PolicyLoss, ValueLoss

VALUE = PolicyLoss(value=ValueLoss())


CASES: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (rules.nothing_to_compare, {"group_size": 1}, {"group_size": 2}),
    (rules.nothing_to_compare, {"group_size": 1}, {"group_size": 1, "advantage": ReMax()}),
    (rules.lone_score, {"advantage": GRPO(singleton="score")}, {"advantage": GRPO()}),
    (rules.lone_score, {"advantage": RLOO(singleton="score")}, {"advantage": ReMax()}),
    (
        rules.normalised_twice,
        {"advantage": GRPO(), "batch_advantage": Whiten()},
        {"advantage": GRPO(divide_by_std=False), "batch_advantage": Whiten()},
    ),
    (
        rules.normalised_twice,
        {"advantage": GiGPO(), "batch_advantage": Whiten()},
        {"advantage": GiGPO(normalise="mean"), "batch_advantage": Whiten()},
    ),
    (
        rules.gae_wants_rewards,
        {"loss": VALUE, "batch_advantage": GAE(), "advantage": GRPO()},
        {"loss": VALUE, "batch_advantage": GAE(), "advantage": TurnReward()},
    ),
    (
        rules.return_on_every_turn,
        {"loss": VALUE, "batch_advantage": GAE(), "advantage": TurnScore()},
        {"loss": VALUE, "batch_advantage": GAE(chain="turn"), "advantage": TurnScore()},
    ),
    (
        rules.blind_to_the_rest,
        {"loss": VALUE, "batch_advantage": GAE(chain="turn"), "advantage": TurnReward()},
        {"loss": VALUE, "batch_advantage": GAE(), "advantage": TurnReward()},
    ),
    (rules.blind_to_the_rest, {"advantage": TurnReward()}, {"advantage": TurnScore()}),
    (
        rules.no_baseline,
        {"advantage": TurnScore()},
        {"advantage": TurnScore(), "batch_advantage": Whiten()},
    ),
    (
        rules.no_baseline,
        {"advantage": TurnScore(), "batch_advantage": KLReward()},
        {"advantage": RLOO(), "batch_advantage": KLReward()},
    ),
]


@pytest.mark.parametrize(("rule", "unwise", "fine"), CASES)
def test_rule(check, rule: Any, unwise: dict[str, Any], fine: dict[str, Any]) -> None:
    check(rule, unwise, fine)


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, _, _ in CASES} == set(rules.ADVANTAGE_RULES)
