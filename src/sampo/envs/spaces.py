"""The one gymnasium space of sampo: any text.

`gymnasium.spaces.Text` lists the characters that it allows, which cannot be done for what a
language model or a simulator may write. Used by `TextEnv`; nothing else is expected to need it.
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np
from gymnasium.spaces import Text

MAX_TEXT_LENGTH = 1_000_000
"""Characters in the longest text that an environment may show or be given."""


class AnyText(Text):
    """The space of all strings of at most `max_length` characters, the empty one included.

    `sample()` draws short printable strings (0 to 16 characters) from the space's own seeded
    generator: garbage for an environment, as a checker wants it, and never a megabyte of it.

    Args:
        max_length: Most characters of a member.
        seed: Seed, or generator, of `sample`.

    Example:
        >>> "" in AnyText() and "日本" in AnyText(), b"up" in AnyText()
        (True, False)
    """

    _SAMPLE_LENGTH = 16

    def __init__(
        self, max_length: int = MAX_TEXT_LENGTH, *, seed: int | np.random.Generator | None = None
    ) -> None:
        charset = string.ascii_letters + string.digits + string.punctuation + " "
        super().__init__(max_length, min_length=0, charset=charset, seed=seed)

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Draw a short printable string; masks work as in `gymnasium.spaces.Text`."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        length = int(self.np_random.integers(0, min(self._SAMPLE_LENGTH, self.max_length) + 1))
        return "".join(self.np_random.choice(self.character_list, size=length))

    def contains(self, x: Any) -> bool:
        """Return whether `x` is a string that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length

    def __eq__(self, other: object, /) -> bool:
        """Spaces of the same kind and bound are equal, whatever their generators."""
        return isinstance(other, AnyText) and self.max_length == other.max_length

    def __hash__(self) -> int:
        """Hash consistently with `__eq__`."""
        return hash((AnyText, self.max_length))

    def __repr__(self) -> str:
        """Show the bound only: the alphabet is every character."""
        return f"AnyText(max_length={self.max_length})"
