"""One episode as a token-exact conversation, in one of two context policies.

`window` (the paper's): each turn is a fresh prompt with the last turns and the present
observation; a row is a turn. `transcript`: tokens are only appended; a row is an episode. Token
ids are kept as they were sampled; what the policy did not write is never trained on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from sampo.envs.prompt import ParsedAction, PromptFormat, PromptView
from sampo.episode import Completion
from sampo.errors import ConfigError
from sampo.rollout.renderer import Message, Renderer


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """What the policy is given for one reply."""

    ids: tuple[int, ...]
    """The whole prompt, from the first token of its row."""
    new_ids: tuple[int, ...]
    """The part of it that was not in the row yet."""
    starts_row: bool


@dataclass(kw_only=True)
class Conversation:
    """The growing record of one episode; `observe` and `act` alternate."""

    renderer: Renderer
    prompt_format: PromptFormat
    context: ContextPolicy
    history: list[tuple[str, str]] = field(default_factory=list)
    """(observation, action as it was understood) of all turns taken."""
    messages: list[Message] = field(default_factory=list)
    """The present row as messages, for the case that it must be rendered anew."""
    row: tuple[int, ...] = ()
    """The ids of the present row."""
    closed: bool = True
    """Whether the last reply ended with the end-of-sequence token."""
    _observation: str = ""
    _admissible: Sequence[str] | None = None

    def observe(self, observation: str, admissible_actions: Sequence[str] | None) -> Prompt:
        """Take in what the environment shows and return the prompt for the next reply."""
        self._observation = observation
        self._admissible = admissible_actions
        prompt = self.context.prompt(self)
        self.row = prompt.ids
        return prompt

    def act(self, completion: Completion) -> tuple[str, ParsedAction]:
        """Take in a sampled reply; return its text and what it means to the environment."""
        self.row += completion.token_ids
        self.closed = self.renderer.is_closed(completion)
        text = self.renderer.reply_text(completion)
        parsed = self.prompt_format.parse(text, self._admissible)
        shown = parsed.action if parsed.action is not None else text.strip()
        self.history.append((self._observation, shown))
        self.messages.append({"role": "assistant", "content": text})
        return text, parsed

    def view(self, turns_shown: int) -> PromptView:
        """Return what a prompt may show, with the last `turns_shown` turns as history."""
        shown = self.history[len(self.history) - min(turns_shown, len(self.history)) :]
        first = self.history[0][0] if self.history else self._observation
        return PromptView(
            observation=self._observation,
            first_observation=first,
            history=tuple(shown),
            turn=len(self.history),
            admissible_actions=self._admissible,
        )

    def open_row(self, message: str) -> Prompt:
        """Start a row with one user message."""
        self.messages = [{"role": "user", "content": message}]
        ids = self.renderer.opening(self.messages)
        return Prompt(ids=ids, new_ids=ids, starts_row=True)

    def extend_row(self, message: str) -> Prompt:
        """Append a user message to the row, or start a new one where the template breaks it."""
        reply = self.messages[-1]["content"]
        self.messages.append({"role": "user", "content": message})
        if not self.renderer.keeps(reply):
            ids = self.renderer.opening(self.messages)
            return Prompt(ids=ids, new_ids=ids, starts_row=True)
        new_ids = self.renderer.continuation(message, closed=self.closed)
        return Prompt(ids=self.row + new_ids, new_ids=new_ids, starts_row=False)


class ContextPolicy(ABC):
    """Decides what the policy sees of an episode, and so what a row is."""

    @abstractmethod
    def prompt(self, conversation: Conversation) -> Prompt:
        """Return the prompt for the next reply of a conversation."""

    def start(self, renderer: Renderer, prompt_format: PromptFormat) -> Conversation:
        """Return an empty conversation under this policy."""
        return Conversation(renderer=renderer, prompt_format=prompt_format, context=self)


@dataclass(frozen=True, kw_only=True)
class WindowContext(ContextPolicy):
    """A fresh prompt per turn with the last turns as text; one row per turn (the paper's)."""

    history: int = 2
    """Number of past turns shown."""

    def __post_init__(self) -> None:
        """Refuse a negative window."""
        if self.history < 0:
            raise ConfigError(f"WindowContext.history must be at least 0, got {self.history}.")

    def prompt(self, conversation: Conversation) -> Prompt:
        """Render the last turns and the present observation."""
        view = conversation.view(self.history)
        return conversation.open_row(conversation.prompt_format.message(view))


@dataclass(frozen=True, kw_only=True)
class TranscriptContext(ContextPolicy):
    """Tokens are only appended; one row per episode.

    Where the chat template rewrites history (Qwen3 drops old thoughts), the row ends there and a
    new one starts from the template's own rendering.
    """

    def prompt(self, conversation: Conversation) -> Prompt:
        """Append the present observation to the row."""
        view = conversation.view(0)
        if not conversation.history:
            return conversation.open_row(conversation.prompt_format.message(view))
        return conversation.extend_row(conversation.prompt_format.followup(view))
