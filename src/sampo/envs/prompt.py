"""How an environment is talked to: observations into messages, replies into actions.

One replaceable object per environment. Text only; the chat template and the tokens are the
conversation's business (`sampo.rollout.conversation`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ParsedAction:
    """What a reply means to the environment."""

    action: str | None
    """Text for `step`; None where no action could be read (the environment is given "")."""
    format_valid: bool
    """The reply has exactly the demanded form."""
    valid: bool
    """`format_valid`, and the action is admissible where the admissible ones are known."""


@dataclass(frozen=True, kw_only=True)
class PromptView:
    """Everything that a prompt may show of an episode."""

    observation: str
    """The present observation."""
    first_observation: str
    """The observation of the reset, which often holds the task."""
    history: Sequence[tuple[str, str]]
    """The last turns that the context policy lets through, oldest first: (observation, action)."""
    turn: int
    """Number of turns already taken."""
    admissible_actions: Sequence[str] | None
    """Actions understood now, or None where they cannot be listed."""


class PromptFormat(ABC):
    """Renders user messages and reads replies."""

    @abstractmethod
    def message(self, view: PromptView) -> str:
        """Return the user message that opens a row: rules, history and present observation."""

    @abstractmethod
    def followup(self, view: PromptView) -> str:
        """Return the user message that continues a transcript: the present observation only."""

    @abstractmethod
    def parse(self, reply: str, admissible_actions: Sequence[str] | None) -> ParsedAction:
        """Read the action out of a reply. Never raises, whatever the reply."""

    @abstractmethod
    def reply(self, action: str) -> str:
        """Return the reply text that a demonstrator writes for an action; `parse` reads it back."""
