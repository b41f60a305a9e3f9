"""The contract of a rollout engine: token ids in, sampled ids and their log-probabilities out.

An engine knows nothing of environments, turns or text. The collector submits requests as soon as
an environment has answered and collects replies as they finish, so an engine may batch
continuously. `generate` is the blocking form, the same for every engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from torch import nn
from transformers import PreTrainedTokenizerBase

from sampo.episode import Completion
from sampo.errors import ConfigError
from sampo.rollout.renderer import Message


@dataclass(frozen=True, kw_only=True)
class SamplingParams:
    """How replies are sampled. The defaults are the policy's own distribution."""

    temperature: float = 1.0
    """0 is greedy."""
    top_p: float = 1.0
    top_k: int = 0
    """0 is off."""
    max_new_tokens: int = 64
    """Most tokens of one reply."""
    stop: Sequence[str] = field(default_factory=tuple)
    """Strings that end a reply as soon as its text contains one of them (they stay part of it)."""

    def __post_init__(self) -> None:
        """Refuse values that have no meaning."""
        if self.temperature < 0:
            raise ConfigError(f"temperature must be at least 0, got {self.temperature}.")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p must be in (0, 1], got {self.top_p}.")
        if self.top_k < 0 or self.max_new_tokens < 1:
            raise ConfigError(
                f"top_k must be at least 0 and max_new_tokens at least 1, "
                f"got {self.top_k} and {self.max_new_tokens}."
            )


@dataclass(frozen=True, kw_only=True)
class GenerationRequest:
    """One reply to be sampled."""

    key: Hashable
    """The caller's name for the request; comes back with its completion."""
    prompt_ids: tuple[int, ...]
    """The whole prompt, from the first token of the row."""
    params: SamplingParams
    seed: int
    """Makes the reply a function of (weights, prompt, params, seed), whatever else is in flight."""
    session: Hashable | None = None
    """Requests of one session extend each other, so an engine may keep their key-value cache.
    None: the prompt is used once."""
    messages: tuple[Message, ...] = ()
    """The prompt as messages, for engines that give text; `prompt_ids` are empty there."""


class RolloutEngine(ABC):
    """Samples replies with the latest synced policy."""

    served_model: str | None = None
    """Name of a model behind somebody else's server, which is given messages and answers in text:
    no weights are loaded for it, and no ids or log-probabilities come back that could be trained
    on. None: the policy is ours."""

    shares_weights: bool = False
    """Whether it samples from the trainer's weights where they are, so that no update may run
    beside a rollout."""

    sleeps: bool = False
    """Whether it gives its memory to the update, so that no rollout may run beside one."""

    def bind(self, tokenizer: PreTrainedTokenizerBase) -> None:  # noqa: B027  not all need it
        """Give the engine the tokenizer, once, before the first request (for stop strings)."""

    @abstractmethod
    def sync_weights(self, policy: nn.Module, version: int) -> None:
        """Sample from `policy` from now on and stamp completions with `version`.

        Drops every cache that the old weights filled.
        """

    @abstractmethod
    def submit(self, requests: Sequence[GenerationRequest]) -> None:
        """Queue requests; returns at once."""

    @abstractmethod
    def collect(self) -> list[tuple[Hashable, Completion]]:
        """Block until at least one queued request is finished and return those that are.

        Returns an empty list when nothing is queued.
        """

    def ready(self, timeout_s: float) -> bool:
        """Return whether `collect` has something to return, waiting for it a moment.

        True where `collect` itself does the work, as engines in this process do.
        """
        return True

    def end_session(self, session: Hashable) -> None:  # noqa: B027  most engines keep nothing
        """Forget whatever is kept for a session; unknown sessions are fine."""

    def sleep(self) -> None:  # noqa: B027  most engines have nothing to give back
        """Give memory back where set up to: nothing is asked until the next `sync_weights`."""

    def close(self) -> None:  # noqa: B027  most engines own nothing
        """Give back processes and memory. The engine cannot be used afterwards."""

    def usage(self) -> Mapping[str, float]:
        """Return what the replies so far have cost; empty where nobody is paid."""
        return {}

    def generate(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        """Sample one reply per request, in the order of the requests."""
        self.submit(requests)
        done: dict[Hashable, Completion] = {}
        while len(done) < len(requests):
            done.update(self.collect())
        return [done[request.key] for request in requests]
