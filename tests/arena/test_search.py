"""What is proposed depends on what is known, is new every time, and gets better."""

import sys

import pytest

from sampo.arena.knobs import Knob
from sampo.arena.search import load_optuna, propose
from sampo.errors import MissingDependencyError

KNOBS = (
    Knob(name="clip", choices=("a", "b", "c")),
    Knob(name="kl", choices=(0.01, 0.05)),
)
RATE = Knob(name="rate", low=1e-4, high=1e-2, log=True)


def searched(knobs, trials, success):
    known = []
    for _ in range(trials):
        values = propose(knobs, known, trials)
        known.append((values, success(values)))
    return known


def test_the_first_trial_takes_the_first_of_everything():
    assert propose((*KNOBS, RATE), [], 4) == {"clip": 0, "kl": 0, "rate": pytest.approx(1e-3)}


def test_nothing_is_tried_twice_until_everything_was():
    known = searched(KNOBS, 6, lambda values: 0.5)
    assert {(values["clip"], values["kl"]) for values, _ in known} == {
        (clip, kl) for clip in range(3) for kl in range(2)
    }


def test_a_search_that_was_stopped_goes_on_as_if_it_had_not_been():
    known = searched((*KNOBS, RATE), 6, lambda values: values["rate"])
    for number in range(1, 6):
        assert propose((*KNOBS, RATE), known[:number], 6) == known[number][0]


def test_failed_trials_say_nothing_and_are_not_tried_again():
    known = [({"clip": 0, "kl": 0}, None), ({"clip": 1, "kl": 0}, None)]
    assert propose(KNOBS, known, 6) not in [values for values, _ in known]


def test_later_trials_gather_around_what_was_good():
    """Success is highest at the least rate: the later half of the trials is lower."""
    known = searched((RATE,), 16, lambda values: -values["rate"])
    rates = [values["rate"] for values, _ in known]
    assert sorted(rates[8:])[4] < sorted(rates[:8])[4] / 2


def test_without_optuna(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sampo\[arena\]'"):
        load_optuna()
