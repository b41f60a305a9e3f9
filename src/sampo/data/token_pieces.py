"""Token ids as text, token by token: what a person looks at, never encoded again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sampo.data.episode_log import TurnPieces
from sampo.episode import Episode

_CACHED = 65536
"""Most pairs of tokens whose text is remembered; episodes repeat themselves."""


class TokenPieces:
    """Cuts the text of a token sequence at its token borders, special tokens included.

    A token's text depends on the one before it: SentencePiece drops a space in front, and a letter
    may be spread over several byte-level tokens, which then show as the replacement character.

    Args:
        tokenizer: a tokenizer of transformers.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._piece = lru_cache(_CACHED)(self._cut)

    def __call__(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Return one piece of text per token."""
        return tuple(map(self._piece, [None, *ids[:-1]], ids))

    def turns(self, episode: Episode) -> tuple[TurnPieces, ...]:
        """Return the pieces of every turn of an episode."""
        return tuple(
            TurnPieces(prompt=self(turn.prompt_ids), action=self(turn.action_ids))
            for turn in episode.turns
        )

    def _cut(self, before: int | None, token: int) -> str:
        """Return what a token adds to the text of the one before it."""
        if before is None:
            return self._decode([token])
        start, both = self._decode([before]), self._decode([before, token])
        added = both[len(start) :] if both.startswith(start) else ""
        return added or self._decode([token])

    def _decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
