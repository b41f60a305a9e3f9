"""Repetition by hand."""

import pytest

from sampo.data.repetition import repetition_rate


@pytest.mark.parametrize(
    ("ids", "rate"),
    [
        ([], 0.0),
        ([7, 7, 7, 7], 0.0),  # one 4-gram, and nothing before it
        ([7, 7, 7, 7, 7], 1 / 2),
        ([1, 2, 3, 4, 5, 6], 0.0),
        # 1212 2121 1212 2121 1212: two of five are new.
        ([1, 2, 1, 2, 1, 2, 1, 2], 3 / 5),
        # 1234 2341 3412 4123 1234: the last was there.
        ([1, 2, 3, 4, 1, 2, 3, 4], 1 / 5),
        ([0] * 103, 99 / 100),
    ],
)
def test_four_grams(ids, rate):
    assert repetition_rate(ids) == pytest.approx(rate)
    assert repetition_rate(tuple(ids)) == pytest.approx(rate)


def test_other_lengths():
    # 12 21 12 23: one of four was there.
    assert repetition_rate([1, 2, 1, 2, 3], n=2) == pytest.approx(1 / 4)
    assert repetition_rate([1, 2, 1], n=1) == pytest.approx(1 / 3)
