"""Cautions about dial 4: what triggers each, and what does not."""

from typing import Any

import pytest

from sampo.advantages import GRPO, GiGPO
from sampo.explain.cautions import filtering as rules
from sampo.filtering import AccuracyBand, AllOf, KeepAll, RejectVoidTurns, SpreadFilter

CASES: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (rules.filter_only_counts, {"max_filter_rounds": 1}, {"max_filter_rounds": 2}),
    (
        rules.filter_only_counts,
        {"max_filter_rounds": 1},
        {"max_filter_rounds": 1, "group_filter": KeepAll()},
    ),
    (rules.cold_start_never_ends, {"filter_cold_start": 200}, {"filter_cold_start": 199}),
    (
        rules.cold_start_never_ends,
        {"filter_cold_start": 200},
        {"filter_cold_start": 200, "updates": None},
    ),
    (
        rules.cold_start_of_nothing,
        {"filter_cold_start": 5, "group_filter": KeepAll()},
        {
            "filter_cold_start": 5,
            "group_filter": KeepAll(),
            "episode_filters": [RejectVoidTurns()],
        },
    ),
    # multiples of 1/8: 0.125 is the least above 0
    (
        rules.band_without_use,
        {"group_filter": AccuracyBand(lowest=0.3, highest=0.35)},
        {"group_filter": AccuracyBand(lowest=0.3, highest=0.375)},
    ),
    (
        rules.band_without_use,
        {"group_filter": AccuracyBand(lowest=0.0, highest=0.1)},
        {"group_filter": AccuracyBand(lowest=0.0, highest=0.125)},
    ),
    (
        rules.band_without_use,
        {"group_filter": AllOf(filters=(AccuracyBand(lowest=0.9, highest=0.95),))},
        {"group_filter": AllOf(filters=(AccuracyBand(), SpreadFilter()))},
    ),
    (rules.spread_of_one, {"group_size": 1}, {"group_size": 1, "group_filter": KeepAll()}),
    (
        rules.format_lessons_dropped,
        {"advantage": GRPO()},
        {"advantage": GRPO(), "group_filter": SpreadFilter(criterion="score")},
    ),
    (
        rules.format_lessons_dropped,
        {"advantage": GRPO()},
        {"advantage": GRPO(), "invalid_action_penalty": 0.0},
    ),
    (rules.format_lessons_dropped, {"advantage": GRPO()}, {"advantage": GiGPO()}),
]


@pytest.mark.parametrize(("rule", "unwise", "fine"), CASES)
def test_rule(check, rule: Any, unwise: dict[str, Any], fine: dict[str, Any]) -> None:
    check(rule, unwise, fine)


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, _, _ in CASES} == set(rules.FILTERING_RULES)
