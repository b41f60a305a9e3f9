"""What a served model's replies cost: how it is counted, and what its provider asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sampo.errors import ConfigError

_MILLION = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Prices:
    """What a million tokens cost, in whatever currency; all null: the cost is not known."""

    prompt: float | None = None
    """Of what the model reads."""
    completion: float | None = None
    """Of what it writes, hidden reasoning included."""
    cached_prompt: float | None = None
    """Of the part of the prompt that the provider had in its cache; null: like `prompt`."""

    def __post_init__(self) -> None:
        """Refuse prices that would give a wrong sum."""
        if (self.prompt is None) != (self.completion is None):
            raise ConfigError("prices needs both prompt and completion, per million tokens.")
        if self.cached_prompt is not None and self.prompt is None:
            raise ConfigError("prices.cached_prompt needs prices.prompt and prices.completion.")
        if any(price is not None and not price >= 0 for price in vars(self).values()):
            raise ConfigError(f"prices must be 0 or more, got {self}.")


@dataclass(kw_only=True)
class Usage:
    """Running counts of one engine."""

    prices: Prices
    requests: int = 0
    """Tries that reached for the server, repeated ones included."""
    replies: int = 0
    """Requests that were answered."""
    prompt_tokens: int = 0
    """As the server counted them, like all tokens here."""
    cached_prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted_replies: int = 0
    """Replies whose tokens the server did not count; they are missing above."""

    def add_reply(self, usage: Any) -> int | None:
        """Count a reply.

        Args:
            usage: the entry of that name of the server's answer, as it came.

        Returns:
            The tokens of the reply; None where the server did not say.
        """
        self.replies += 1
        prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        if prompt is None or completion is None:
            self.uncounted_replies += 1
            return completion
        details = usage.get("prompt_tokens_details")
        self.prompt_tokens += prompt
        self.cached_prompt_tokens += min(_count(details, "cached_tokens") or 0, prompt)
        self.completion_tokens += completion
        return completion

    @property
    def cost(self) -> float | None:
        """In the currency of the prices; None where they are not known."""
        prices = self.prices
        if prices.prompt is None or prices.completion is None:
            return None
        cached = prices.prompt if prices.cached_prompt is None else prices.cached_prompt
        return (
            (self.prompt_tokens - self.cached_prompt_tokens) * prices.prompt
            + self.cached_prompt_tokens * cached
            + self.completion_tokens * prices.completion
        ) / _MILLION

    def values(self) -> dict[str, float]:
        """Return the counts by name, for reports; the cost only where the prices are known."""
        counts: dict[str, float] = {
            "requests": self.requests,
            "requests_without_reply": self.requests - self.replies,
            "prompt_tokens": self.prompt_tokens,
            "cached_prompt_tokens": self.cached_prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "replies_without_token_count": self.uncounted_replies,
        }
        return counts if self.cost is None else counts | {"cost": self.cost}


def _count(usage: Any, name: str) -> int | None:
    """Return a count of the server's, None where there is none."""
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if isinstance(value, int) and value >= 0 else None
