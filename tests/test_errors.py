"""The exception tree: one root, standard types, safe across processes."""

import inspect
import pickle

import pytest

from sampo import errors
from sampo.errors import SampoError, did_you_mean

CLASSES = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, SampoError)
]


@pytest.mark.parametrize("cls", CLASSES)
def test_every_error_pickles_with_its_message(cls: type[SampoError]) -> None:
    restored = pickle.loads(pickle.dumps(cls("The level is not there.")))
    assert type(restored) is cls
    assert str(restored) == "The level is not there."


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls is not SampoError])
def test_every_error_is_also_a_standard_type(cls: type[SampoError]) -> None:
    standard = [base for base in cls.__mro__ if base.__module__ == "builtins"]
    # More than what SampoError itself already is.
    assert set(standard) - set(SampoError.__mro__)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_error_is_documented(cls: type[SampoError]) -> None:
    assert cls.__doc__


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("gigppo", ["grpo", "gigpo"], " Did you mean 'gigpo'?"),
        ("sokoban", ["envs/sokoban", "quickstart"], " Did you mean 'envs/sokoban'?"),
        ("gigpo", ["gigpo"], " Did you mean 'gigpo'?"),
        ("zzz", ["grpo", "gigpo"], ""),
        ("grpo", [], ""),
    ],
)
def test_did_you_mean(name: str, known: list[str], hint: str) -> None:
    assert did_you_mean(name, known) == hint


def test_did_you_mean_does_not_depend_on_the_order_of_what_is_known() -> None:
    # Both are equally near; the same one is named whichever comes first.
    assert did_you_mean("xgpo", ["agpo", "bgpo"]) == did_you_mean("xgpo", ["bgpo", "agpo"])


def test_did_you_mean_takes_any_iterable() -> None:
    assert did_you_mean("grp", (name for name in ["grpo"])) == " Did you mean 'grpo'?"
