"""Intervals against hand-worked numbers and their limits."""

import pytest

from sampo.evaluation.intervals import clustered_interval, wilson_interval


def test_wilson_by_hand():
    # p = 0.8, n = 10, z = 1.96: centre 0.8 + 3.8416/20 = 0.99208,
    # half 1.96 * sqrt(0.016 + 3.8416/400) = 1.96 * 0.16001 = 0.31361, scale 1.38416.
    low, high = wilson_interval(8, 10)
    assert low == pytest.approx(0.6784685 / 1.3841459, abs=2e-4)
    assert high == pytest.approx(1.3056915 / 1.3841459, abs=2e-4)


def test_wilson_has_a_width_at_the_ends():
    # p = 0: the upper end is z^2 / (n + z^2) = 3.8415 / 23.8415.
    assert wilson_interval(0, 20) == pytest.approx((0.0, 3.8414588 / 23.8414588))
    assert wilson_interval(20, 20) == pytest.approx((20 / 23.8414588, 1.0))


def test_wilson_of_nothing_says_nothing():
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_wilson_widens_with_confidence():
    low95, high95 = wilson_interval(30, 100, 0.95)
    low99, high99 = wilson_interval(30, 100, 0.99)
    assert low99 < low95 < 0.3 < high95 < high99


@pytest.mark.parametrize(("successes", "n", "confidence"), [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 1)])
def test_wilson_refuses_nonsense(successes, n, confidence):
    with pytest.raises(ValueError, match="must be in"):
        wilson_interval(successes, n, confidence)


def test_one_sample_per_task_is_plain_wilson():
    assert clustered_interval([(1, 1)] * 3 + [(0, 1)] * 5) == pytest.approx(wilson_interval(3, 8))


def test_samples_that_always_agree_count_as_one_per_task():
    # 8 tasks of 4 samples, 3 of them always solved. D = sum (s - 4p)^2 / (n p q) with p = 3/8:
    # (3 * 2.5^2 + 5 * 1.5^2) / (32 * 15/64) = 30 / 7.5 = 4, so n / D = 8.
    assert clustered_interval([(4, 4)] * 3 + [(0, 4)] * 5) == pytest.approx(wilson_interval(3, 8))


def test_agreement_at_the_ends_counts_tasks_too():
    assert clustered_interval([(4, 4)] * 6) == pytest.approx(wilson_interval(6, 6))
    assert clustered_interval([(0, 4)] * 6) == pytest.approx(wilson_interval(0, 6))


def test_partly_clustered_by_hand():
    # Tasks (4,4), (2,4), (0,4): p = 1/2, D = (4 + 0 + 4) / (12 / 4) = 8/3, n / D = 4.5.
    assert clustered_interval([(4, 4), (2, 4), (0, 4)]) == pytest.approx(wilson_interval(2.25, 4.5))


def test_evenly_split_tasks_are_not_believed_more_than_independent_samples():
    # Every task at exactly 1/2 gives D = 0, which is luck, not precision: D is at least 1.
    assert clustered_interval([(2, 4)] * 5) == pytest.approx(wilson_interval(10, 20))


def test_tasks_without_samples_are_ignored():
    assert clustered_interval([(1, 2), (0, 0)]) == clustered_interval([(1, 2)])
    assert clustered_interval([(0, 0)]) == (0.0, 1.0)
