"""Learning rates as functions of what is done."""

import pytest

from sampo.schedules import Schedule, lr_factor


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("constant", [1 / 3, 2 / 3, 1.0, 1.0, 1.0]),
        ("linear", [1 / 3, 2 / 3, 1.0, 0.5, 0.0]),
        ("cosine", [1 / 3, 2 / 3, 1.0, 0.5, 0.0]),
    ],
)
def test_warm_up_then_course(kind: Schedule, expected: list[float]) -> None:
    """Four steps, two of them warm-up; the fifth would be past the end."""
    assert [lr_factor(kind, done, 4, 2) for done in range(5)] == pytest.approx(expected)


def test_beyond_the_end_it_stays_at_its_last_value() -> None:
    assert lr_factor("linear", 9, 4) == 0.0
    assert lr_factor("constant", 9, None) == 1.0
