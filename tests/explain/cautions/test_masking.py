"""Cautions about the sequence mask: what triggers each, and what does not."""

from typing import Any

import pytest

from sampo.advantages import Whiten
from sampo.explain.cautions import masking as rules
from sampo.losses import Aggregation, Clip, PolicyLoss, Ratio, SequenceMask

TOKEN = Ratio(level="token")
TOKENS = Aggregation(kind="token_mean")


def token(surrogate: Any, **more: Any) -> dict[str, Any]:
    """Return the settings of a token-level loss."""
    return {"loss": PolicyLoss(ratio=TOKEN, surrogate=surrogate, aggregation=TOKENS, **more)}


def masked(threshold: float, **more: Any) -> dict[str, Any]:
    return {"loss": PolicyLoss(masking=SequenceMask(threshold=threshold), **more)}


CASES: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (
        rules.clip_was_there_first,
        masked(0.01),
        masked(0.001),
    ),  # the clip is at ratio 0.997, exp(-0.003) by and large
    (rules.clip_was_there_first, masked(0.01), token(Clip(), masking=SequenceMask(threshold=0.3))),
    (rules.clip_was_there_first, masked(0.01), {**masked(0.01), "batch_advantage": Whiten()}),
    (
        rules.mask_too_loose,
        token(Clip(), masking=SequenceMask()),
        token(Clip(), masking=SequenceMask(threshold=3e-3)),
    ),
    (
        rules.mask_too_loose,
        token(Clip(), masking=SequenceMask()),
        masked(0.223),
    ),  # the clip is there first
]


@pytest.mark.parametrize(("rule", "unwise", "fine"), CASES)
def test_rule(check, rule: Any, unwise: dict[str, Any], fine: dict[str, Any]) -> None:
    check(rule, unwise, fine)


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, _, _ in CASES} == set(rules.MASKING_RULES)
