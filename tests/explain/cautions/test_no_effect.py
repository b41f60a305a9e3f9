"""Cautions about settings without effect: what triggers each, and what does not."""

from typing import Any

import pytest

from sampo.advantages import GAE, TurnReward
from sampo.explain.cautions import no_effect as rules
from sampo.losses import Aggregation, Clip, PolicyLoss, Ratio, ValueLoss

TOKEN = Ratio(level="token")
PRODUCT = Ratio(level="token", length_normalise=False)
LEVEL = Aggregation(kind="token_mean", level="episode")

CASES: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (rules.value_rate_without_head, {"value_learning_rate": 1e-5}, {}),
    (
        rules.value_rate_without_head,
        {"value_learning_rate": 1e-5},
        {
            "value_learning_rate": 1e-5,
            "loss": PolicyLoss(value=ValueLoss()),
            "batch_advantage": GAE(),
            "advantage": TurnReward(),
        },
    ),
    (
        rules.product_of_one,
        {"loss": PolicyLoss(ratio=PRODUCT, surrogate=Clip())},
        {"loss": PolicyLoss(ratio=TOKEN, surrogate=Clip())},
    ),
    (
        rules.product_of_one,
        {"loss": PolicyLoss(ratio=PRODUCT, surrogate=Clip())},
        {"loss": PolicyLoss(ratio=Ratio(level="turn", length_normalise=False))},
    ),
    (
        rules.level_of_a_token_mean,
        {"loss": PolicyLoss(aggregation=LEVEL)},
        {"loss": PolicyLoss(aggregation=Aggregation(kind="token_mean"))},
    ),
    (
        rules.level_of_a_token_mean,
        {"loss": PolicyLoss(regulariser_aggregation=LEVEL)},
        {"loss": PolicyLoss(aggregation=Aggregation(level="episode"))},
    ),
]


@pytest.mark.parametrize(("rule", "unwise", "fine"), CASES)
def test_rule(check, rule: Any, unwise: dict[str, Any], fine: dict[str, Any]) -> None:
    check(rule, unwise, fine)


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, _, _ in CASES} == set(rules.NO_EFFECT_RULES)


def test_the_setting_is_named(make_run) -> None:
    loss = PolicyLoss(regulariser_aggregation=LEVEL)
    caution = rules.level_of_a_token_mean(make_run(loss))
    assert caution is not None
    assert caution.fix.startswith("--model.loss.regulariser_aggregation.level turn")
