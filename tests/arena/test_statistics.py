"""Statements over seeds, by hand where they can be, by their laws elsewhere."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampo.arena.statistics import (
    estimate,
    interquartile_mean,
    mean,
    performance_profile,
    probability_of_improvement,
    rank_probabilities,
)

scores = st.dictionaries(
    st.sampled_from(["a", "b"]), st.lists(st.floats(0, 1), min_size=1, max_size=5), min_size=1
)


def test_the_middle_half():
    assert interquartile_mean(np.array([5.0])) == 5.0
    assert interquartile_mean(np.array([1.0, 2.0, 6.0])) == 3.0
    # Of eight, two are cut at either end.
    assert interquartile_mean(np.array([9.0, 0, 0, 1, 2, 3, 4, 9])) == pytest.approx(2.5)


def test_an_interval_over_seeds():
    found = estimate({"a": [0.2, 0.4], "b": [0.8, 1.0]}, mean)
    assert found.value == pytest.approx(0.6)
    # The extremes of the draws: (0.2, 0.2, 0.8, 0.8) and (0.4, 0.4, 1.0, 1.0).
    assert (found.low, found.high) == (pytest.approx(0.5), pytest.approx(0.7))


def test_environments_are_drawn_apart():
    """Two environments far from each other widen nothing where their seeds agree."""
    found = estimate({"a": [0.1, 0.1, 0.1], "b": [0.9, 0.9, 0.9]}, mean)
    assert found.low == found.high == pytest.approx(0.5)


@given(scores)
def test_intervals_hold_their_value_and_stay_within_the_scores(given_scores):
    found = estimate(given_scores, mean)
    everything = [value for values in given_scores.values() for value in values]
    assert min(everything) - 1e-9 <= found.low <= found.high <= max(everything) + 1e-9
    assert found == estimate(given_scores, mean)


def test_who_beats_whom_by_hand():
    # a: 3 of 4 pairs won. b: one tie, one win of 2 pairs.
    found = probability_of_improvement(
        {"a": [0.5, 0.9], "b": [0.3]}, {"a": [0.4, 0.6], "b": [0.3, 0.1], "c": [1.0]}
    )
    assert found.value == pytest.approx((3 / 4 + 3 / 4) / 2)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0


@given(scores, scores)
def test_the_two_sides_add_up_to_one(mine, others):
    if not set(mine) & set(others):
        with pytest.raises(ValueError, match="in common"):
            probability_of_improvement(mine, others)
        return
    there, back = probability_of_improvement(mine, others), probability_of_improvement(others, mine)
    assert there.value + back.value == pytest.approx(1.0)


def test_ranks():
    ranks = rank_probabilities(
        {"worst": {"a": [0.1, 0.2]}, "best": {"a": [0.8, 0.9]}, "mid": {"a": [0.5]}}
    )
    assert ranks == {"worst": [0, 0, 1], "best": [1, 0, 0], "mid": [0, 1, 0]}
    even = rank_probabilities({"x": {"a": [0.5]}, "y": {"a": [0.5]}})
    assert even["x"][0] == pytest.approx(0.5, abs=0.05)
    assert sum(even["x"]) == pytest.approx(1.0)


def test_a_profile_falls():
    assert performance_profile([0.0, 0.5, 1.0], [0.0, 0.5, 0.75, 1.0]) == pytest.approx(
        [1.0, 2 / 3, 1 / 3, 1 / 3]
    )
