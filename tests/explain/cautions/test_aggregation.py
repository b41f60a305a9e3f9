"""Cautions about dial 1 and sequences: what triggers each, and what does not."""

from typing import Any

import pytest

from sampo.explain.cautions import aggregation as rules
from sampo.losses import Aggregation, Clip, PolicyLoss, Ratio, SequenceMask, SoftGate
from sampo.rollout.conversation import TranscriptContext

TOKEN = Ratio(level="token")
EPISODE = Ratio(level="episode")
TOKENS = Aggregation(kind="token_mean")
EPISODES = Aggregation(level="episode")
FIXED = "sum_over_max_length"


def token(surrogate: Any, **more: Any) -> dict[str, Any]:
    """Return the settings of a token-level loss."""
    return {"loss": PolicyLoss(ratio=TOKEN, surrogate=surrogate, aggregation=TOKENS, **more)}


CASES: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (
        rules.long_sequences_count_more,
        {"loss": PolicyLoss(aggregation=TOKENS)},
        {"loss": PolicyLoss()},
    ),
    (
        rules.long_sequences_count_more,
        {"loss": PolicyLoss(aggregation=TOKENS, ratio=EPISODE)},
        token(Clip()),
    ),
    (
        rules.torn_means,
        {"loss": PolicyLoss(ratio=EPISODE)},
        {"loss": PolicyLoss(ratio=EPISODE, aggregation=EPISODES)},
    ),
    (rules.torn_means, {"loss": PolicyLoss(aggregation=EPISODES)}, token(Clip())),
    (
        rules.episodes_over_window_rows,
        {"loss": PolicyLoss(ratio=EPISODE, aggregation=EPISODES)},
        {
            "loss": PolicyLoss(ratio=EPISODE, aggregation=EPISODES),
            "context": TranscriptContext(),
        },
    ),
    (
        rules.episodes_over_window_rows,
        {"loss": PolicyLoss(masking=SequenceMask(level="episode"))},
        {"loss": PolicyLoss(masking=SequenceMask())},
    ),
    (rules.episodes_over_window_rows, token(SoftGate(sequence="episode")), token(SoftGate())),
    (rules.turns_within_transcript_rows, {"context": TranscriptContext()}, {}),
    (
        rules.turns_within_transcript_rows,
        {"context": TranscriptContext(), **token(SoftGate())},
        {"context": TranscriptContext(), **token(Clip())},
    ),
    (
        rules.fixed_length_is_not_the_limit,
        {"loss": PolicyLoss(aggregation=Aggregation(kind=FIXED, max_length=512))},
        {"loss": PolicyLoss(aggregation=Aggregation(kind=FIXED, max_length=64))},
    ),
    (
        rules.fixed_length_is_not_the_limit,
        # 15 turns of 64 tokens
        {"loss": PolicyLoss(aggregation=Aggregation(kind=FIXED, level="episode", max_length=64))},
        {"loss": PolicyLoss(aggregation=Aggregation(kind=FIXED, level="episode", max_length=960))},
    ),
]


@pytest.mark.parametrize(("rule", "unwise", "fine"), CASES)
def test_rule(check, rule: Any, unwise: dict[str, Any], fine: dict[str, Any]) -> None:
    check(rule, unwise, fine)


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, _, _ in CASES} == set(rules.AGGREGATION_RULES)
