"""pass@k against counting subsets, and its unbiasedness against the chance itself."""

from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampo.evaluation import mean_pass_at, pass_at_k


@given(st.integers(1, 8), st.data())
def test_is_the_share_of_subsets_with_a_success(samples: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, samples))
    k = data.draw(st.integers(1, samples))
    outcomes = [True] * successes + [False] * (samples - successes)
    subsets = list(combinations(outcomes, k))
    share = sum(any(subset) for subset in subsets) / len(subsets)
    assert pass_at_k(samples, successes, k) == pytest.approx(share)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_is_unbiased(k: int) -> None:
    p, n = 0.3, 5
    chances = [comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    expected = sum(chance * pass_at_k(n, c, k) for c, chance in enumerate(chances))
    assert expected == pytest.approx(1 - (1 - p) ** k)


@pytest.mark.parametrize(
    ("samples", "successes", "k"), [(4, 1, 5), (4, 5, 1), (4, -1, 1), (4, 1, 0)]
)
def test_counts_that_do_not_fit_are_refused(samples: int, successes: int, k: int) -> None:
    with pytest.raises(ValueError, match=f"pass@{k} cannot be told"):
        pass_at_k(samples, successes, k)


def test_mean_goes_up_to_the_fewest_samples_of_a_task() -> None:
    assert list(mean_pass_at([(1, 6), (2, 8), (0, 0)])) == [1, 2, 4, 6]
    assert mean_pass_at([(1, 6), (2, 8)])[1] == pytest.approx((1 / 6 + 1 / 4) / 2)
    assert mean_pass_at([]) == {} == mean_pass_at([(0, 0)])
