"""Rules on series with known answers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampo.collapse import Above, Below, Drop, Jump, Slope, slope
from sampo.errors import ConfigError


def severity(rule, values, baseline=None) -> float:
    judgement = rule.judge(values, baseline)
    assert judgement is not None
    return judgement.severity


def test_levels_judge_the_recent_median():
    high = Above(signal="x", threshold=2.0, window=3)
    assert high.judge([9.0, 9.0], None) is None
    assert severity(high, [0.0, 9.0, 1.0, 1.0]) == 0.5  # one outlier changes nothing
    assert severity(high, [3.0, 9.0, 4.0]) == 2.0
    low = Below(signal="x", threshold=2.0, window=1)
    assert severity(low, [4.0]) == 0.5
    assert severity(low, [0.0]) == math.inf


def test_drop_is_measured_from_the_best_median():
    rule = Drop(signal="x", share=0.5, window=3, errors=0.0)
    # Best median 0.8 (the 1.0 is an outlier), recent one 0.2: three quarters are lost.
    values = [0.1, 0.8, 0.8, 1.0, 0.8, 0.2, 0.2, 0.2]
    assert severity(rule, values) == pytest.approx(1.5)
    judgement = rule.judge(values, None)
    assert judgement is not None and judgement.threshold == pytest.approx(0.4)
    assert severity(rule, [0.5, 0.6, 0.7, 0.8]) == 0.0
    assert rule.judge([0.01, 0.01, 0.0], None) is None, "nothing was ever reached"


def test_a_drop_within_the_noise_is_none():
    """Values that jump by 0.4 have medians of three with an error of 0.30."""
    noisy = [0.8, 0.4] * 10 + [0.3, 0.3, 0.3]
    assert severity(Drop(signal="x", share=0.5, window=3, errors=0.0), noisy) > 1.0
    assert severity(Drop(signal="x", share=0.5, window=3, errors=3.0), noisy) < 1.0
    steady = [0.8] * 20 + [0.3, 0.3, 0.3]
    assert severity(Drop(signal="x", share=0.5, window=3, errors=3.0), steady) > 1.0


def test_jump_compares_with_before_and_keeps_that_while_it_holds():
    rule = Jump(signal="x", factor=4.0, window=2, history=4, least_history=2)
    assert rule.judge([1.0, 8.0, 8.0], None) is None
    assert severity(rule, [1.0, 1.0, 1.0, 8.0, 8.0]) == 2.0
    assert severity(rule, [8.0] * 9, baseline=1.0) == 2.0
    assert severity(rule, [8.0] * 9) == 0.25
    floored = Jump(signal="x", factor=4.0, floor=100.0, window=1, least_history=2)
    assert severity(floored, [1.0, 1.0, 50.0]) == 0.5
    fall = Jump(signal="x", factor=0.1, window=1, least_history=2)
    assert severity(fall, [1.0, 1.0, 0.05]) == pytest.approx(2.0)
    assert severity(fall, [1.0, 1.0, 0.5]) == pytest.approx(0.2)
    small = Jump(signal="x", factor=0.5, floor=0.02, window=1, least_history=2)
    assert severity(small, [1.0, 1.0, 0.4]) < 1.0, "a fall counts only below the floor"


def test_slope_is_that_of_most_pairs():
    assert slope([0.0, 1.0, 2.0, 90.0, 4.0]) == 1.0
    assert slope([5.0]) == 0.0
    rule = Slope(signal="x", per_update=0.5, window=4)
    assert rule.judge([1.0, 2.0, 3.0], None) is None
    assert severity(rule, [0.0, 1.0, 2.0, 3.0]) == 2.0
    assert severity(rule, [3.0, 2.0, 1.0, 0.0]) == 0.0
    assert severity(Slope(signal="x", per_update=-0.5, window=4), [3.0, 2.0, 1.0, 0.0]) == 2.0


@given(st.lists(st.floats(0.01, 100), min_size=8, max_size=30))
def test_a_single_outlier_is_never_enough(values):
    for rule in (
        Above(signal="x", threshold=1e6),
        Jump(signal="x", factor=1e6),
        Drop(signal="x", share=0.999999),
    ):
        spoiled = [*values[:-1], 1e12]
        judgement = rule.judge(spoiled, None)
        assert judgement is None or judgement.severity <= 1.0


def test_impossible_settings_are_refused():
    with pytest.raises(ConfigError, match="at least 1"):
        Above(signal="x", threshold=1.0, window=0)
    with pytest.raises(ConfigError, match="one of warning, collapsing, collapsed"):
        Above(signal="x", threshold=1.0, stage="bad")  # pyright: ignore[reportArgumentType]
