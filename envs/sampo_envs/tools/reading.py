"""What a text asks for: its first fenced block, and its last boxed answer.

In time linear in the text, whatever a policy writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FENCE = "```"
_BRACES = re.compile(r"\\boxed\s*\{|\\[\\{}]|[{}]")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block in a text."""

    content: str
    start: int
    """Position of its opening fence."""
    end: int
    """Position after its closing fence."""


def first_block(text: str, languages: Sequence[str]) -> Block | None:
    r"""Return the first complete block in one of some languages.

    A fence stands at the beginning of a line; the closing one has its line to itself. Blocks in
    other languages are stepped over.

    Args:
        text: Any text.
        languages: Words behind the opening fence, capitals ignored; "" is a fence without a word.

    Example:
        >>> first_block("So:\n```python\nprint(1)\n```\ndone", ["python"])
        Block(content='print(1)', start=4, end=26)
    """
    opened: tuple[str, int, int] | None = None
    position = 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if opened is None:
            if bare.startswith(_FENCE):
                word = bare[len(_FENCE) :].strip().lower()
                opened = (word, position + line.index(_FENCE), position + len(line))
        elif bare == _FENCE:
            word, start, inside = opened
            if word in languages:
                content = text[inside:position].removesuffix("\n")
                end = position + line.index(_FENCE) + len(_FENCE)
                return Block(content=content, start=start, end=end)
            opened = None
        position += len(line)
    return None


def last_boxed(text: str) -> str | None:
    r"""Return what the last complete `\boxed{...}` holds, braces balanced; None without one.

    Example:
        >>> last_boxed(r"either \boxed{1} or \boxed{\frac{1}{2}}.")
        '\\frac{1}{2}'
    """
    found: str | None = None
    open_braces: list[int | None] = []
    """For each, where its content starts if it belongs to a box."""
    for match in _BRACES.finditer(text):
        mark = match.group()
        if mark.startswith("\\boxed"):
            open_braces.append(match.end())
        elif mark == "{":
            open_braces.append(None)
        elif mark == "}" and open_braces:
            start = open_braces.pop()
            if start is not None:
                found = text[start : match.start()].strip()
    return found
