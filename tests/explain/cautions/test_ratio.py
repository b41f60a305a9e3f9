"""Cautions about dial 2: what triggers each, and what does not."""

from typing import Any

import pytest

from sampo.explain.cautions import ratio as rules
from sampo.losses import (
    Aggregation,
    Clip,
    DetachedClip,
    EntropyBalanced,
    GeometricMean,
    PolicyLoss,
    Ratio,
    Reinforce,
    SequenceMask,
    SoftGate,
    Unclipped,
)

TOKEN = Ratio(level="token")
TOKENS = Aggregation(kind="token_mean")


def token(surrogate: Any, **more: Any) -> dict[str, Any]:
    """Return the settings of a token-level loss."""
    return {"loss": PolicyLoss(ratio=TOKEN, surrogate=surrogate, aggregation=TOKENS, **more)}


CASES: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (rules.clip_never_acts, {"num_mini_batches": 1}, {"num_mini_batches": 1, "epochs": 2}),
    (rules.clip_never_acts, {"num_mini_batches": 1}, {"num_mini_batches": 1, **token(Reinforce())}),
    # at most 16 * 8 * 15 rows
    (
        rules.clip_never_acts,
        {"num_mini_batches": None, "mini_batch_rows": 1920},
        {"num_mini_batches": None, "mini_batch_rows": 1919},
    ),
    (rules.fewer_steps_than_asked, {"num_mini_batches": 129}, {"num_mini_batches": 128}),
    (rules.no_lower_bound, token(Clip(clip_low=1.0)), token(DetachedClip(clip_low=1.0))),
    (rules.clip_too_wide, {"loss": PolicyLoss(surrogate=Clip())}, token(Clip())),
    (
        rules.clip_too_wide,
        {"loss": PolicyLoss(surrogate=Clip())},
        {"loss": PolicyLoss(surrogate=GeometricMean())},
    ),
    (
        rules.clip_too_wide,
        {"loss": PolicyLoss(surrogate=DetachedClip())},
        {"loss": PolicyLoss(surrogate=DetachedClip(clip_high=4e-3))},
    ),
    (rules.clip_too_narrow, token(Clip(clip_low=3e-3, clip_high=4e-3)), {"loss": PolicyLoss()}),
    (
        rules.clip_too_narrow,
        token(Clip(clip_low=3e-3, clip_high=4e-3)),
        token(Clip(clip_low=3e-3, clip_high=0.2)),
    ),
    (
        rules.bounds_before_clip,
        {"loss": PolicyLoss(ratio=Ratio(level="turn", log_max=1e-3))},
        {"loss": PolicyLoss(ratio=Ratio(level="turn", log_max=0.1))},
    ),
    (
        rules.bounds_before_clip,
        {"loss": PolicyLoss(ratio=Ratio(level="turn", log_min=-1e-3))},
        {"loss": PolicyLoss(ratio=Ratio(level="turn", log_min=-0.1))},
    ),
    (
        rules.product_of_many,
        {"loss": PolicyLoss(ratio=Ratio(level="turn", length_normalise=False))},
        {},
    ),
    (rules.gate_has_no_clip, token(SoftGate(clip_low=0.1)), token(SoftGate(tau_negative=2.0))),
    (
        rules.off_policy_without_bound,
        token(Reinforce()),
        {"num_mini_batches": 1, **token(Reinforce())},
    ),
    (rules.off_policy_without_bound, token(Unclipped()), token(Clip())),
    (
        rules.tolerant_without_mask,
        token(DetachedClip()),
        token(DetachedClip(), masking=SequenceMask()),
    ),
    (rules.tolerant_without_mask, token(SoftGate()), {"num_mini_batches": 1, **token(SoftGate())}),
    (
        rules.dual_clip_out_of_reach,
        {"loss": PolicyLoss(surrogate=Clip(dual_clip=3.0))},
        token(Clip(dual_clip=3.0)),
    ),
    (
        rules.entropies_cost_a_pass,
        token(EntropyBalanced()),
        token(EntropyBalanced(), masking=SequenceMask()),
    ),
]


@pytest.mark.parametrize(("rule", "unwise", "fine"), CASES)
def test_rule(check, rule: Any, unwise: dict[str, Any], fine: dict[str, Any]) -> None:
    check(rule, unwise, fine)


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, _, _ in CASES} == set(rules.RATIO_RULES)
