"""Games that are ready: one parsed grammar, names, predicates."""

import pytest

from sampo_envs.alfworld import open_games, read_game
from sampo_envs.alfworld.engine import Board, ground
from sampo_envs.alfworld.engine.board import UNKNOWN, read_atom, split_task


@pytest.fixture(scope="module")
def boards(one_of_each: list[str]) -> list[Board]:
    games = [read_game(open_games("generated"), name) for name in one_of_each[:2]]
    return [Board(one.domain, one.grammar, ground(one.domain, one.problem)) for one in games]


def test_games_share_the_parsed_grammar(boards: list[Board]) -> None:
    assert boards[0].logic is boards[1].logic
    assert boards[0].sentence != boards[1].sentence


def test_the_task_is_taken_out_of_the_grammar() -> None:
    grammar = '{"task": [{"rhs": "Your task is to: put a mug in desk."}]}'
    general, sentence = split_task(grammar)
    assert sentence == "put a mug in desk"
    assert general == '{"task": [{"rhs": "Your task is to: UNKNOWN GOAL."}]}'
    # With symbols in it, it is left to the grammar's own parser.
    strange = grammar.replace("a mug", "#thing#")
    assert split_task(strange) == (strange, UNKNOWN)


def test_what_only_notes_that_one_has_looked_is_not_relevant(boards: list[Board]) -> None:
    for board in boards:
        assert "checked" in board.dynamic
        assert "checked" not in board.relevant
        assert {"atlocation", "holds", "inreceptacle"} <= board.relevant


def test_atoms() -> None:
    assert read_atom("Atom holdsany(agent1)") == (True, ("holdsany", ("agent1",)))
    assert read_atom("Atom new-axiom@0()") == (True, ("new-axiom@0", ()))
