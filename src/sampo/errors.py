"""The one exception tree of sampo.

Every error that a user can cause or mend is a `SampoError`: one sentence that says what happened,
where it was looked for, and what to do. The command line prints that sentence and exits with 1; a
traceback is kept for our own mistakes. Each class is also the standard-library type that a caller
would expect to catch, and pickles, because it may cross a process boundary.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SampoError(Exception):
    """Base class of everything that sampo raises on purpose."""


class ConfigError(SampoError, ValueError):
    """A setting, or a combination of settings, that cannot work."""


class MissingDependencyError(SampoError, ImportError):
    """An optional package that the configuration needs is not installed."""


class MissingDataError(SampoError, FileNotFoundError):
    """A file, folder or data set that the configuration names is not there."""


class EnvFailure(SampoError, RuntimeError):
    """An environment broke its contract (crashed, hung, or returned nonsense)."""


class EngineError(SampoError, RuntimeError):
    """A rollout engine failed or broke its contract."""


class PolicyError(SampoError, ValueError):
    """A model or tokenizer that cannot serve as a policy."""


class CheckpointError(SampoError, RuntimeError):
    """A checkpoint that cannot be written, read, or continued from."""


class RankError(SampoError, RuntimeError):
    """Another process of a run on several devices is gone or does not answer."""


class NonFiniteError(SampoError, ArithmeticError):
    """Too many updates in a row had a non-finite loss or gradient."""


class DoctorError(SampoError, RuntimeError):
    """`sampo doctor` found something that would spoil the run."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `" Did you mean 'x'?"` for the nearest known name, or an empty string.

    Example:
        >>> did_you_mean("gigppo", ["grpo", "gigpo"])
        " Did you mean 'gigpo'?"
    """
    close = get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""
