"""One running copy of the policy in another process, as an engine speaks to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sampo.rollout.engine import GenerationRequest


class Reply(NamedTuple):
    """What a replica sampled."""

    token_ids: Sequence[int]
    logprobs: Sequence[float]
    """Of the sampled tokens, under the distribution that was sampled from."""
    finish_reason: str | None


class Replica(ABC):
    """Answers on an event loop; many calls of `generate` run at once.

    Every method raises `EngineError` with one sentence where the other process is gone or refuses.
    """

    dtype: str
    """What it computes in, as vLLM writes it (`torch.bfloat16`)."""

    @abstractmethod
    async def generate(self, request: GenerationRequest, fields: Mapping[str, Any]) -> Reply:
        """Sample a reply with these sampling parameters; being cancelled cancels it there too."""

    @abstractmethod
    async def score(self, token_ids: Sequence[int]) -> list[float]:
        """Return the log-probability of every token but the first, at temperature 1."""

    @abstractmethod
    async def load(self, folder: Path) -> list[dict[str, int]]:
        """Take new weights, drop all caches and wake where asleep.

        Returns:
            Per worker process, the checksum of each tensor as it was read.
        """

    @abstractmethod
    async def differing(self, folder: Path) -> list[str]:
        """Return the names of the weights in the folder that the replica does not compute with."""

    @abstractmethod
    async def sleep(self) -> None:
        """Give weights and cache back until the next `load`."""

    @abstractmethod
    async def close(self) -> None:
        """End what was started."""
