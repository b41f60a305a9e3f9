"""Parts as text, and parts that nobody has written a formula for."""

from dataclasses import dataclass

import pytest

from sampo.explain import Formula, formula
from sampo.explain.formula import describe, formula_of, is_known, num, plain, summary
from sampo.filtering import AllOf, KeepAll, SpreadFilter
from sampo.losses import Clip


@dataclass(frozen=True, kw_only=True)
class Squashed(Clip):
    """Clips by a hyperbolic tangent.

    Not for real.
    """

    steepness: float = 2.0


class Plain:
    def __init__(self) -> None:
        self.size = 3
        self._hidden = 4


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.997, "0.997"), (1e-6, "1e-6"), (-20.0, "−20"), (1_048_576, "1048576"), (1.0, "1")],
)
def test_numbers_take_as_few_characters_as_they_need(value: float, text: str) -> None:
    assert num(value) == text


def test_values_are_written_as_in_a_config() -> None:
    assert plain(True) == "true"
    assert plain(-5.0) == "-5"  # an ASCII minus, unlike in formulas
    both = AllOf(filters=(SpreadFilter(tolerance=0.0), KeepAll()))
    assert (
        describe(both)
        == "AllOf: filters [SpreadFilter: criterion raw_return, tolerance 0; KeepAll]"
    )


def test_fields_that_are_off_are_left_out() -> None:
    assert describe(Clip()) == "Clip: clip_low 0.2, clip_high 0.2"
    assert describe(Plain()) == "Plain: size 3"


def test_a_class_is_summed_up_by_its_own_docstring() -> None:
    assert summary(Squashed()) == "Clips by a hyperbolic tangent."
    assert summary(Plain()) == ""


def test_a_generated_docstring_says_nothing() -> None:
    @dataclass
    class Bare:
        size: int = 1

    assert summary(Bare()) == ""


def test_a_subclass_is_not_taken_for_its_base(make_run) -> None:
    text = formula_of(Squashed(), make_run())
    assert not is_known(Squashed())
    assert text.term == "Squashed_t"
    assert text.where[0].formula.endswith("steepness 2")
    assert text.where[0].words == "Clips by a hyperbolic tangent."


def test_a_class_of_ones_own_can_have_a_formula(make_run) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Mine(Clip):
        """Mine."""

    @formula.register(Mine)
    def mine(part, run) -> Formula:
        return Formula(term=f"−{run.advantage_symbol} tanh({run.ratio_symbol})")

    assert formula_of(Mine(), make_run()).term == "−A_i tanh(s_i)"
