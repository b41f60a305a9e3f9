"""What a sandbox is asked and what it answers, whoever runs the program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sampo.errors import ConfigError

Outcome = Literal["finished", "error", "timeout", "output_limit", "killed"]
"""`finished`: exit code 0. `error`: an exception or another exit code. `killed`: by a signal, such
as the one of a stack overflow."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one program may use. It may start threads, and no processes."""

    wall_s: float = 5.0
    """Seconds from start to end."""
    cpu_s: int = 5
    """Seconds of processor time, whole ones."""
    memory_mb: int = 1024
    """MiB of address space, those of the preloaded packages (about 300) included."""
    files_mb: int = 16
    """MiB of all files in the private working folder together, and of any one file."""
    output_kb: int = 64
    """KiB of each of stdout and stderr; more ends the program."""

    def __post_init__(self) -> None:
        """Refuse limits that nothing can keep."""
        for name in ("wall_s", "cpu_s", "memory_mb", "files_mb", "output_kb"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"Sandbox: {name} is {getattr(self, name)}; it must be positive.")


@dataclass(frozen=True, kw_only=True)
class ProgramResult:
    """What became of one program."""

    outcome: Outcome
    stdout: str
    stderr: str
    """The traceback, where it raised."""
    exit_code: int = 0
    """Negative: the signal that ended it."""
    wall_s: float = 0.0
    cpu_s: float = 0.0


class Sandbox(ABC):
    """Runs Python programs that nobody has read."""

    @abstractmethod
    def __call__(self, program: str, earlier: Sequence[str] = ()) -> ProgramResult:
        """Run a program and return what became of it; its faults are results, never exceptions.

        Args:
            program: Python source.
            earlier: Programs to be run before it in the same process, in silence, so that their
                variables are there. Time limits count all of them.

        Raises:
            EnvFailure: The sandbox itself failed: nothing is known of the program.
        """
