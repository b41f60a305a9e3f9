"""Cautions about the KL: what triggers each, and what does not."""

from typing import Any

import pytest

from sampo.advantages import KLReward, Whiten
from sampo.explain.cautions import regularisers as rules
from sampo.losses import KLPenalty, PolicyLoss

CASES: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (
        rules.kl_only_logged,
        {"loss": PolicyLoss(kl_coef=0.0)},
        {"loss": PolicyLoss(kl_coef=0.0), "batch_advantage": KLReward()},
    ),
    (rules.kl_only_logged, {"loss": PolicyLoss(kl_coef=0.0)}, {}),
    (
        rules.kl_off,
        {"loss": PolicyLoss(kl_coef=0.0), "reference": False},
        {"loss": PolicyLoss(kl_coef=0.0)},
    ),
    (
        rules.kl_twice,
        {"batch_advantage": KLReward()},
        {"batch_advantage": KLReward(), "loss": PolicyLoss(kl_coef=0.0)},
    ),
    (rules.kl_twice, {"batch_advantage": Whiten(kl_coef=0.1)}, {"batch_advantage": Whiten()}),
    (
        rules.k1_pulls_nowhere,
        {"loss": PolicyLoss(kl=KLPenalty(kind="k1"))},
        {"loss": PolicyLoss(kl=KLPenalty(kind="k1", gradient="k2"))},
    ),
    (
        rules.k1_pulls_nowhere,
        {"loss": PolicyLoss(kl=KLPenalty(kind="k1"))},
        {"loss": PolicyLoss(kl=KLPenalty(kind="k1"), kl_coef=0.0)},
    ),
]


@pytest.mark.parametrize(("rule", "unwise", "fine"), CASES)
def test_rule(check, rule: Any, unwise: dict[str, Any], fine: dict[str, Any]) -> None:
    check(rule, unwise, fine)


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, _, _ in CASES} == set(rules.REGULARISER_RULES)
