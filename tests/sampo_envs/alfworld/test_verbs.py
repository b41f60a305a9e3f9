"""Commands in the words of the game."""

import pytest

from sampo_envs.alfworld.verbs import understood

NEW = ["go to desk 2", "look", "move mug 1 to desk 2"]
OLD = ["go to desk 2", "look", "put mug 1 in/on desk 2"]


@pytest.mark.parametrize(
    "said",
    [
        "move mug 1 to desk 2",
        "put mug 1 in/on desk 2",
        "put mug 1 in desk 2",
        "put mug 1 on desk 2",
        " Put  Mug 1 In/On\nDesk 2 ",
        "MOVE mug 1 TO desk 2",
    ],
)
def test_one_command_two_grammars(said: str) -> None:
    assert understood(said, NEW) == NEW[2]
    assert understood(said, OLD) == OLD[2]


@pytest.mark.parametrize("said", ["", "put mug 1", "move mug 2 to desk 2", "take mug 1", "put"])
def test_what_is_not_offered_stays_as_it_is(said: str) -> None:
    assert understood(said, NEW) == said


def test_capitals_and_white_space() -> None:
    assert understood("  LOOK ", NEW) == "look"
    assert understood("Go  to desk 2", OLD) == "go to desk 2"
