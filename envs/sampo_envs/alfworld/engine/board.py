"""A game that is ready to be played: parsed, translated and named once, shared by its episodes."""

from __future__ import annotations

import contextlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from alfworld.agents.utils.misc import Demangler
from textworld.envs.pddl.logic import GameLogic
from textworld.logic import Placeholder, Proposition, State, Type, Variable

from sampo_envs.alfworld.engine.grounding import Fact, Grounding
from sampo_envs.alfworld.engine.simulator import Operator, simulator
from sampo_envs.alfworld.engine.texts import Entity, Mapped, Scene, derive, lookups

UNKNOWN = "UNKNOWN GOAL"
"""What ALFWorld's own grammar has in place of the sentence that says what to do."""
_TASK = re.compile(r'("rhs": "Your task is to: )([^"\\\[\]{}#]+)(\.")')
_DERIVED = "new-axiom"
"""Beginning of the predicates that the translator invents; they follow from the others."""


@dataclass(frozen=True)
class Move:
    """What an operator means in the game's texts."""

    operator: Operator
    mapping: Mapped
    template: str
    feedback: str
    """Symbol of the text that answers it."""
    command: str | None
    """The command, where it is the same in every state."""


class FactStore(State):
    """TextWorld's facts and queries, without its planner: made from a board, copied by episodes."""

    def __init__(self, logic: GameLogic, facts: Iterable[Proposition] = ()) -> None:
        # Not super().__init__: it insists on TextWorld's other GameLogic, as PddlState knows too.
        self._logic: Any = logic
        self._facts: Any = defaultdict(set)
        self._vars_by_name: Any = {}
        self._vars_by_type: Any = defaultdict(set)
        self._var_counts: Any = Counter()
        self.add_facts(facts)

    def copy(self) -> FactStore:
        """Return facts that change on their own."""
        twin = FactStore(self._logic)
        for signature, facts in self._facts.items():
            twin._facts[signature] = set(facts)
        twin._vars_by_name = dict(self._vars_by_name)
        for kind, variables in self._vars_by_type.items():
            twin._vars_by_type[kind] = set(variables)
        twin._var_counts = Counter(self._var_counts)
        return twin

    def named(self, predicate: str) -> Iterator[Proposition]:
        """Yield the facts of one predicate."""
        for signature, facts in self._facts.items():
            if signature.name == predicate:
                yield from facts


class Board:
    """One game of a process.

    Args:
        domain: PDDL of the domain; only its digest matters here, the grounding has the rest.
        grammar: TextWorld's logic and grammar file.
        grounding: The translated problem.

    Raises:
        Exception: Whatever TextWorld raises on a grammar that it cannot read, or that does not fit.
    """

    def __init__(self, domain: str, grammar: str, grounding: Grounding) -> None:
        general, self.sentence = split_task(grammar)
        self.logic = _logic(domain, general)
        self.sas = grounding.sas.encode()
        self.objects, self._parameters = grounding.objects, grounding.parameters
        for name, above in grounding.types:
            # Every game of a domain adds the same types; the first one did.
            with contextlib.suppress(ValueError):
                self.logic.types.add(Type(name, list(above)))
        simulator().load(self.sas)
        simulator().go_to(0)
        atoms = simulator().atoms()
        self.dynamic = frozenset(predicate for _, (predicate, _) in map(read_atom, atoms))
        self.relevant = _relevant(grounding.influences, grammar) & self.dynamic
        facts = [self.proposition(fact) for fact in grounding.init]
        facts += [self.proposition(fact) for holds, fact in map(read_atom, atoms) if holds]
        self.facts = FactStore(self.logic, facts)
        self.entities = _entities(self.facts)
        self._moves: dict[int, Move] = {}
        self._commands: dict[tuple[str, ...], str] = {}

    def proposition(self, fact: Fact) -> Proposition:
        """Return TextWorld's form of a fact."""
        predicate, arguments = fact
        return Proposition(predicate, [Variable(one, self.objects[one]) for one in arguments])

    def scene(self, facts: FactStore, mapping: Mapped) -> Scene:
        """Return what texts are derived in."""
        return Scene(facts, self.entities, self.logic.grammar._rules, mapping)

    def move(self, operator: Operator) -> Move:
        """Return what an operator means."""
        move = self._moves.get(operator.number)
        if move is None:
            move = self._moves[operator.number] = self._read(operator)
        return move

    def command(self, move: Move, facts: FactStore) -> str:
        """Return the text of a move in a state."""
        if move.command is not None:
            return move.command
        return derive(move.template, self.scene(facts, move.mapping))

    def _read(self, operator: Operator) -> Move:
        name, *arguments = operator.name.split()
        # Not strict: variables that the translator added to conditions are no arguments.
        pairs = zip(self._parameters[name], arguments, strict=False)
        mapping = {Placeholder(p, kind): Variable(one, kind) for (p, kind), one in pairs}
        action = self.logic.actions[name]
        command = self._lasting_command(name, mapping)
        return Move(operator, mapping, action.template, action.feedback_rule, command)

    def _lasting_command(self, name: str, mapping: Mapped) -> str | None:
        """Return an action's command where no state can change it, else None."""
        template = self.logic.actions[name].template
        reads = lookups(template)
        names = {placeholder.name for placeholder in mapping}
        if reads is None or reads.predicates & self.dynamic or not reads.variables <= names:
            return None
        # Going to one place is one text, wherever one starts.
        words = set(re.findall(r"\w+", template))
        key = (
            name,
            *(one.name for placeholder, one in mapping.items() if placeholder.name in words),
        )
        command = self._commands.get(key)
        if command is None:
            command = self._commands[key] = derive(template, self.scene(self.facts, mapping))
        return command


def split_task(grammar: str) -> tuple[str, str]:
    """Return a grammar without its task, and the task's sentence.

    Games differ in nothing else, so that one parsed grammar serves all of them.
    """
    found = _TASK.search(grammar)
    if found is None:
        return grammar, UNKNOWN
    return _TASK.sub(rf"\g<1>{UNKNOWN}\g<3>", grammar, count=1), found.group(2)


def read_atom(name: str) -> tuple[bool, Fact]:
    """Return whether an atom of the simulator says that something is so, and what.

    Example:
        >>> read_atom("NegatedAtom holds(agent1, cup_1)")
        (False, ('holds', ('agent1', 'cup_1')))
    """
    kind, _, rest = name.partition(" ")
    predicate, _, arguments = rest.rstrip(")").partition("(")
    return kind != "NegatedAtom", (predicate, tuple(filter(None, arguments.split(", "))))


@lru_cache(maxsize=4)
def _logic(domain: str, grammar: str) -> GameLogic:
    return GameLogic(domain=domain, grammar=grammar)


def _entities(facts: FactStore) -> dict[str, Entity]:
    """Return the things of a game under the names that ALFWorld gives them."""
    things = {one.name: Entity(one.name, one.type, one.name) for one in facts.variables}
    names = Demangler(game_infos=things, shuffle=False)
    return {
        thing.id: Entity(thing.id, thing.type, names.demangle_alfred_name(thing.id))
        for thing in things.values()
    }


def _relevant(influences: dict[str, tuple[str, ...]], grammar: str) -> frozenset[str]:
    """Return the predicates that decide what will be possible, won or told."""
    pending = [*influences[""], *re.findall(r"\b(?:not_)?(\w+)\(", grammar)]
    found: set[str] = set()
    while pending:
        predicate = pending.pop()
        if predicate not in found and not predicate.startswith(_DERIVED):
            found.add(predicate)
            pending += influences.get(predicate, ())
    return frozenset(found)
