"""One episode of a game: what is seen, what can be said, and whether it is won."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from textworld.logic import Proposition, Variable

from sampo_envs.alfworld.engine.board import UNKNOWN, Board, Move, read_atom
from sampo_envs.alfworld.engine.simulator import Operator, simulator
from sampo_envs.alfworld.engine.texts import derive

NOTHING = "Nothing happens."
"""The answer to what is not understood."""


class Play:
    """An episode in progress.

    Attributes:
        feedback: The text that answered the last command, at first the introduction.
        commands: What is understood now, sorted.
        won: Whether the present state has what the problem asks for.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._facts = board.facts.copy()
        self._done: list[Operator] = []
        self._loading, self._state = simulator().load(board.sas), 0
        simulator().go_to(0)
        introduction = derive("#intro#", board.scene(self._facts, {}))
        self.feedback = introduction.replace(UNKNOWN, board.sentence)
        self._look_around()

    def step(self, command: str) -> None:
        """Do what a command says; another text changes nothing."""
        move = self._moves.get(command)
        if move is None:
            self.feedback = NOTHING
            return
        self._come_back()
        for name in simulator().apply(move.operator):
            self._note(name)
        self._done.append(move.operator)
        self._state = simulator().state()
        self.feedback = derive(move.feedback, self._board.scene(self._facts, move.mapping))
        self._look_around()

    def digest(self) -> str:
        """Return a digest of everything that decides how the game goes on."""
        lines = sorted(
            f"{fact.name} {' '.join(one.name for one in fact.arguments)}"
            for predicate in self._board.relevant
            for fact in self._facts.named(predicate)
        )
        return hashlib.blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()

    def facts(self, predicate: str) -> list[tuple[str, ...]]:
        """Return the facts of a predicate, things under the names that texts give them."""
        entities = self._board.entities
        return sorted(
            tuple(entities[one.name].name.strip() for one in fact.arguments)
            for fact in self._facts.named(predicate)
        )

    def readable_facts(self) -> list[Proposition]:
        """Return all facts as ALFWorld's hand-coded expert reads them."""
        entities: Mapping[str, Any] = self._board.entities
        named = (
            (fact, [entities[one.name] for one in fact.arguments]) for fact in self._facts.facts
        )
        return [Proposition(fact.name, _named(things)) for fact, things in named]

    def _come_back(self) -> None:
        """Make this episode's state the simulator's."""
        loading = simulator().load(self._board.sas)
        if loading == self._loading:
            simulator().go_to(self._state)
            return
        simulator().go_to(0)
        for operator in self._done:
            simulator().apply(operator)
        self._loading, self._state = loading, simulator().state()

    def _note(self, effect: str) -> None:
        """Enter an effect into the facts; as TextWorld, whether its condition held or not."""
        holds, fact = read_atom(effect)
        said, denied = self._board.proposition(fact), self._board.proposition(fact).negate()
        self._facts.remove_fact(denied if holds else said)
        self._facts.add_fact(said if holds else denied)

    def _look_around(self) -> None:
        moves: dict[str, Move] = {}
        for operator in simulator().operators():
            move = self._board.move(operator)
            # Of several moves with one text, TextWorld takes the first.
            moves.setdefault(self._board.command(move, self._facts), move)
        self._moves = moves
        self.commands = sorted(moves)
        self.won = simulator().is_goal()


def _named(things: list[Any]) -> list[Variable]:
    return [Variable(thing.name or thing.id, thing.type) for thing in things]
