"""ALFWorld's hand-coded expert, which searches for things as a player must.

It is the original's agent; here it gets its task from a game's name instead of a file beside it,
and random numbers of its own. It does not win every game.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from alfworld.agents.expert import HandCodedAgentTimeout, HandCodedTWAgent
from alfworld.agents.expert.handcoded_expert import HandCodedAgentFailed

from sampo_envs.alfworld.engine import Play
from sampo_envs.alfworld.verbs import in_grammar, understood

_MOST_STEPS = 200


class HandCodedExpert:
    """The expert's view of one episode, which it has to see whole.

    Args:
        name: Name of the game, which says what is to be done.
        play: The episode, at its beginning.
        seed: Of its choices.
    """

    def __init__(self, name: str, play: Play, seed: int) -> None:
        kind, thing, _, place, *_ = name.split("/")[1].split("-")
        lamp = kind == "look_at_obj_in_light"
        parameters = {
            "task_type": kind,
            "object_target": thing.lower(),
            "parent_target": "" if lamp else place.lower(),
            "toggle_target": place.lower() if lamp else "",
            "mrecep_target": "",
            "object_sliced": False,
        }
        self._random = random.Random(f"{name} {seed}")
        self._agent: Any = HandCodedTWAgent(max_steps=_MOST_STEPS)
        self._agent.task_params = parameters
        policy = self._agent.get_task_policy(parameters)
        self._agent.policy = policy(parameters, max_steps=_MOST_STEPS)
        self._agent.observe(play.feedback)
        self.action = "look"
        """What it would do now."""

    def see(self, command: str, play: Play) -> None:
        """Take note of a command and of what came of it."""
        state = {
            "feedback": play.feedback,
            "facts": play.readable_facts(),
            "admissible_commands": [in_grammar(one, "move") for one in play.commands],
        }
        self.action = "look"
        with _generator(self._random):
            try:
                # It gives commands of the new grammar, and notices only in the old one that it has
                # put something down; without that it rarely puts a second thing anywhere.
                action = self._agent.act(state, 0, play.won, in_grammar(command, "put"))
            except (HandCodedAgentTimeout, HandCodedAgentFailed):
                return
        action = understood(action, play.commands)
        if action in play.commands:
            self.action = action


@contextmanager
def _generator(own: random.Random) -> Iterator[None]:
    """Let code that uses Python's global generator draw from another one."""
    state = random.getstate()
    random.setstate(own.getstate())
    try:
        yield
    finally:
        own.setstate(random.getstate())
        random.setstate(state)
