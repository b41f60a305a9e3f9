"""What a search may turn, read and turned into settings."""

import math

import pytest

from sampo.arena.knobs import combinations, read_knobs, settings_of
from sampo.errors import ConfigError


def test_settings():
    knobs = read_knobs(
        {"clip": [{"low": 1, "high": 2}, {"low": 3, "high": 4}], "kl": [0.1, None], "lr": RANGE},
        "x",
    )
    assert settings_of(knobs, {"clip": 1, "kl": 1, "lr": 0.05}) == {
        "low": 3,
        "high": 4,
        "kl": None,
        "lr": 0.05,
    }
    # The middle of 0.01 to 0.09 on a log scale: the root of 9e-4.
    assert [knob.first for knob in knobs] == [0, 0, pytest.approx(0.03)]
    assert combinations(knobs) == math.inf
    assert combinations(knobs[:2]) == 4


RANGE = {"low": 0.01, "high": 0.09, "log": True}


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ([], "x must name settings and their values"),
        ({"a": []}, r"x\.a must be a list of values or a range"),
        ({"a": 1}, r"x\.a must be a list of values or a range"),
        ({"a": {"low": 2, "high": 1}}, r"x\.a must be a list of values or a range"),
        ({"a": {"low": 0, "high": 1, "step": 1}}, r"x\.a must be a list of values or a range"),
        ({"a": {"low": 0, "high": 1, "log": True}}, "starts above 0, not at 0"),
        ({"a": [1, {"b": 2}]}, "mixes values with mappings"),
    ],
)
def test_what_is_wrong_is_said(entry, says):
    with pytest.raises(ConfigError, match=says):
        read_knobs(entry, "x")
