"""Reading what an OpenAI-compatible server says: replies, and refusals in their several forms."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sampo.episode import FinishReason
from sampo.errors import ConfigError, EngineError

_SHOWN_CHARACTERS = 300
_TOO_LONG = re.compile(r"context[ _](length|size|window)|maximum context", re.IGNORECASE)
"""How OpenAI, vLLM, SGLang and llama.cpp speak of a prompt that leaves no room for a reply."""
_FINISH = {"length": FinishReason.LENGTH, "content_filter": FinishReason.ABORT}


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """An answer that is not a success."""

    status: int
    """HTTP status."""
    message: str
    """What the server says, as a sentence on one line, without the key."""
    code: str
    """Its name for the problem; often empty."""

    @property
    def is_of_length(self) -> bool:
        """Whether the prompt and the reply that was asked for do not fit into the context."""
        return bool(_TOO_LONG.search(f"{self.code} {self.message}"))


def read_refusal(status: int, text: str) -> Refusal:
    """Return what an answer without success says: OpenAI's form, FastAPI's, or plain text."""
    message, code = text, ""
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if isinstance(answer, dict):
        error = answer.get("error", answer)
        if isinstance(error, dict):
            message = str(error.get("message") or error.get("detail") or text)
            code = str(error.get("code") or error.get("type") or "")
        else:
            message = str(error)
    return Refusal(status=status, message=_sentence(one_line(message)), code=code)


def read_reply(answer: Mapping[str, Any]) -> tuple[str, FinishReason]:
    """Return the text of a chat completion or a completion, and why it ended.

    A message without content (all of it hidden reasoning, or a refusal) is an empty reply.

    Raises:
        EngineError: there is no choice in it.

    Example:
        >>> read_reply({"choices": [{"message": {"content": "up"}, "finish_reason": "stop"}]})
        ('up', <FinishReason.STOP: 'stop'>)
    """
    try:
        choice = answer["choices"][0]
        text = choice["message"]["content"] if "message" in choice else choice["text"]
        finish = choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        shown = one_line(json.dumps(answer))
        raise EngineError(f"A reply of the server has no text in it: {shown}") from error
    return str(text or ""), _FINISH.get(finish, FinishReason.STOP)


def _sentence(text: str) -> str:
    """Return text that others can be written behind."""
    text = text or "no reason given"
    return text if text.endswith((".", "!", "?")) else f"{text}."


def check_url(url: str) -> None:
    """Refuse what is no URL of a server, and one that holds a secret.

    Raises:
        ConfigError: says what is wrong without repeating the secret.
    """
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query:
        raise ConfigError(
            "base_url holds a name, a password or a query, which would be written into configs and "
            "reports. Give the key through the environment variable (api_key_variable)."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"base_url is no URL of a server: {url!r}. It looks like http://localhost:8000/v1."
        )


def one_line(text: str) -> str:
    """Return text without line breaks, cut where it gets long."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS]}..."
