"""What a conversation needs to know of tokens, and conversations that know none.

`sampo.rollout.chat.ChatRenderer` is the one for policies of ours. A model behind somebody else's
server is given messages and answers in text: `MessageRenderer`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from sampo.episode import Completion
from sampo.errors import EngineError

Message = Mapping[str, str]
"""`role` (`system`, `user` or `assistant`) and `content`."""


class Renderer(ABC):
    """Turns messages into what a model is given, and what it wrote into text.

    Args:
        system: text of a system message that opens every row, or None.
    """

    def __init__(self, system: str | None) -> None:
        self._system: list[Message] = [{"role": "system", "content": system}] if system else []

    def with_system(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages behind the system message, if there is one."""
        return (*self._system, *messages)

    @abstractmethod
    def opening(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Return the ids of a fresh prompt that ends where the model begins to write."""

    @abstractmethod
    def continuation(self, message: str, *, closed: bool) -> tuple[int, ...]:
        """Return the ids between one reply and the next.

        Args:
            message: the user message in between.
            closed: whether the reply before ended with the end-of-sequence token.
        """

    @abstractmethod
    def keeps(self, reply: str) -> bool:
        """Return whether a transcript may go on after this reply without breaking its prefix."""

    @abstractmethod
    def is_closed(self, completion: Completion) -> bool:
        """Return whether a reply ended with the end-of-sequence token."""

    @abstractmethod
    def reply_text(self, completion: Completion) -> str:
        """Return what a reply says, without special tokens."""


class MessageRenderer(Renderer):
    """Conversations as messages alone: no prompt and no reply has token ids.

    How long a prompt is, only the server knows, so no context length is applied here.
    """

    def opening(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Return no ids."""
        return ()

    def continuation(self, message: str, *, closed: bool) -> tuple[int, ...]:
        """Return no ids."""
        return ()

    def keeps(self, reply: str) -> bool:
        """Return that a transcript goes on: the server renders it anew for every reply."""
        return True

    def is_closed(self, completion: Completion) -> bool:
        """Return that it is: framing is the server's business."""
        return True

    def reply_text(self, completion: Completion) -> str:
        """Return the text that came."""
        if completion.text is None:
            raise EngineError(
                "A reply came without its text, from an engine whose conversations have no tokens. "
                "Such an engine sets `Completion.text`."
            )
        return completion.text
