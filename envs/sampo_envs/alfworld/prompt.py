"""How ALFWorld is talked to: the paper's template, and a compact form for nano policies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sampo.envs import ParsedAction, PromptView, TagPrompt
from sampo_envs.alfworld.verbs import understood

_TASK = re.compile(r"Your task is to: (.*?)\.?\s*\Z", re.DOTALL)
_ROOM = re.compile(r"you see (.*?)\.\s")
_THING = re.compile(r"\ban? (\w+)(?: \d+)?")


@dataclass(frozen=True, kw_only=True)
class AlfworldPrompt(TagPrompt):
    """The paper's template: role, task, last turns, observation and actions; thoughts required.

    A reply is valid when it has the demanded form and its action is admissible, in either grammar
    of the verb (`put X in/on Y` or `move X to Y`); the history has it in the game's own words.

    References:
        ARLArena, https://arxiv.org/abs/2602.21534; the wording is that of verl-agent's ALFWorld
        template, https://github.com/langfengQ/verl-agent (Apache-2.0).
    """

    task: str = "You are an expert agent operating in the ALFRED Embodied Environment."
    goal: str = "Your task is to: {task}."
    """Template, `{task}`: what to do. From the second turn on; the first observation says it."""
    think: Literal["required", "optional", "forbidden"] = "required"
    forbid_cjk: bool = True
    fallback_last_chars: int = 30
    first: str = ""
    history_intro: str = (
        "Prior to this step, you have already taken {turn} step(s). Below are the most recent "
        "{count} observations and the corresponding actions you took:"
    )
    history_item: str = "[Observation {index}: '{observation}', Action {index}: '{action}']"
    opening: str = "Your current observation is: {observation}"
    """Template that stands for `current` in the first turn."""
    current: str = "You are now at step {step} and your current observation is: {observation}"
    actions: str = "Your admissible actions of the current situation are: [{actions}]."
    action_item: str = "'{action}'"
    """Template, `{action}`: one of the admissible actions."""
    action_separator: str = "\n "
    instruction: str | None = (
        "\nNow it's your turn to take an action.\nYou should first reason step-by-step about the "
        "current situation. This reasoning process MUST be enclosed within <think> </think> tags."
        "\nOnce you've finished your reasoning, you should choose an admissible action for current "
        "step and present it within <action> </action> tags."
    )

    def message(self, view: PromptView) -> str:
        """Return the whole prompt of one turn."""
        lines, present = [self.task], self.opening
        if view.turn > 0:
            lines.append(self.goal.replace("{task}", task_of(view.first_observation)))
            present = self.current
        words = replace(self, task=" ".join(line for line in lines if line), current=present)
        return super(AlfworldPrompt, words).message(self._shown(view))

    def followup(self, view: PromptView) -> str:
        """Return the present observation and the admissible actions."""
        return super().followup(self._shown(view))

    def parse(self, reply: str, admissible_actions: Sequence[str] | None) -> ParsedAction:
        """Read the action out of a reply; it is valid when its form is and it is admissible."""
        read = super().parse(reply, None)
        if read.action is None or admissible_actions is None:
            return read
        action = understood(read.action, admissible_actions)
        return replace(read, action=action, valid=read.valid and action in admissible_actions)

    def _shown(self, view: PromptView) -> PromptView:
        """Return the view as it is written in the prompt."""
        actions = view.admissible_actions
        if actions is not None:
            actions = [self.action_item.replace("{action}", action) for action in actions]
        return replace(view, admissible_actions=actions)


@dataclass(frozen=True, kw_only=True)
class CompactPrompt(AlfworldPrompt):
    """A few words: task, room, last actions, what happened, and what can be done on the spot.

    The room is what the first observation lists, counted (`bed 1, shelf 6`). What can be done on
    the spot leaves out what is always possible (going somewhere, `look`, `inventory`); places and
    tools are left out of commands that have but one. The reply is `<action>go to bed 1</action>`.

    For policies that are cloned before they are trained, and so need no rules. Between two turns of
    history and the present, what is in the hand shows in what can be done with it.
    """

    task: str = ""
    goal: str = ""
    think: Literal["required", "optional", "forbidden"] = "forbidden"
    history_intro: str = ""
    history_item: str = "{action}"
    opening: str = "{observation}"
    current: str = "{observation}"
    actions: str = "{actions}"
    action_item: str = "{action}"
    action_separator: str = ", "
    instruction: str | None = ""

    def message(self, view: PromptView) -> str:
        """Return the whole prompt of one turn."""
        first = view.first_observation
        words = replace(self, task=f"{task_of(first)}\n{room_of(first)}")
        return super(CompactPrompt, words).message(view)

    def _shown(self, view: PromptView) -> PromptView:
        here = [short(one) for one in view.admissible_actions or () if not _always(one)]
        seen = "" if view.turn == 0 else view.observation.partition(". ")[0]
        return replace(view, observation=seen, admissible_actions=here)


def task_of(first_observation: str) -> str:
    """Return what is to be done, out of the first observation."""
    found = _TASK.search(first_observation)
    return found.group(1) if found else first_observation


def room_of(first_observation: str) -> str:
    r"""Return the kinds of places in a room, with their numbers.

    Example:
        >>> room_of("... you see a bed 1, a shelf 2, and a shelf 1.\n\nYour task is to: rest.")
        'bed 1, shelf 2'
    """
    found = _ROOM.search(first_observation)
    kinds = Counter(_THING.findall(found.group(1))) if found else Counter()
    return ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))


def short(command: str) -> str:
    """Return a command without its place or tool.

    Example:
        >>> short("take mug 1 from desk 2"), short("use desklamp 1")
        ('take mug 1', 'use desklamp 1')
    """
    return re.split(r" (?:from|to|in/on|with) ", command, maxsplit=1)[0]


def _always(command: str) -> bool:
    return command.startswith("go to ") or command in ("look", "inventory")
