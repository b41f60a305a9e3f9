"""A tool that a policy can call, and how what it says is shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sampo.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """What came of one call."""

    text: str
    failed: bool = False
    """The call was at fault, and the text says how."""
    lasting: bool = True
    """Whether later calls are told of this one: not where it never came to an end."""


class Tool(ABC):
    """Something that answers text with text, without ever raising at what it is given.

    Implementations are settings only, and picklable; what is costly is made when first called.
    """

    languages: ClassVar[tuple[str, ...]]
    """Words that mark a fenced block as a call, the usual one first: `("python", "py")`."""

    @abstractmethod
    def __call__(self, call: str, earlier: Sequence[str]) -> ToolResult:
        """Answer a call.

        Args:
            call: Text of the block.
            earlier: The lasting calls of this episode before it, oldest first.

        Raises:
            EnvFailure: The tool itself failed, so that nothing can be said of the call.
        """


@dataclass(frozen=True, kw_only=True)
class ResultText:
    r"""How a tool's result becomes an observation.

    What is too long is cut in the middle, so that both the beginning and the end are seen. Marks
    like `<|...|>`, which tokenizers may read as control tokens, are broken up.

    Raises:
        ConfigError: `max_chars` is too small to say that something was left out.

    Example:
        >>> ResultText(max_chars=40)(ToolResult(text="x" * 60))
        'Result: xxxxxxx\n[46 characters left out]\nxxxxxxx'
    """

    template: str = "Result: {result}"
    max_chars: int = 512
    """Most characters of a result, the note on what was left out included."""
    empty: str = "(no output)"

    def __post_init__(self) -> None:
        """Refuse limits without room for a cut."""
        if self.max_chars < 40:
            raise ConfigError(f"ResultText: max_chars={self.max_chars} must be at least 40.")

    def __call__(self, result: ToolResult) -> str:
        """Return the observation."""
        text = result.text.strip().replace("<|", "< |") or self.empty
        return self.template.format(result=self._cut(text))

    def _cut(self, text: str) -> str:
        if len(text) <= self.max_chars:
            return text
        room = (self.max_chars - len(self._note(len(text)))) // 2
        return text[:room] + self._note(len(text) - 2 * room) + text[-room:]

    @staticmethod
    def _note(left_out: int) -> str:
        return f"\n[{left_out} characters left out]\n"
