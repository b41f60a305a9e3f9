"""Turns exceptions into one sentence for the user, and leaves our own mistakes as they are.

The command line asks what to say of an exception; None means that it is a bug of ours, for which
the traceback is the best message.
"""

from __future__ import annotations

import re
import traceback
from pathlib import Path

from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.accelerators import AcceleratorRegistry
from lightning.pytorch.strategies import StrategyRegistry
from safetensors import SafetensorError

from sampo.cli_values import explain_union
from sampo.errors import ConfigError, SampoError, did_you_mean
from sampo.plain_commands import explain_os_error

_OURS = Path(__file__).parent
_INVALID_NAME = re.compile(r"invalid (strategy|accelerator) name: `\w+='([^']*)'`")


def explain_failure(error: BaseException) -> str | None:
    """Return the sentence for an exception that a user can cause or mend; None for all others."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, SampoError):
        cause = cause.__cause__  # the parser puts its own around ours
    if cause is not None:
        return _one_line(cause)
    if isinstance(error, MisconfigurationException):
        return _one_line(error)
    if isinstance(error, OSError):
        return explain_os_error(error)
    if isinstance(error, SafetensorError):
        return (
            f"A safetensors file could not be read or written: {_one_line(error)}. Free some space "
            "if the disk is full, or use another file."
        )
    return explain_union(str(error)) if isinstance(error, ValueError) else None


def making_failed(error: Exception) -> ConfigError | None:
    """Return what to say when an object of the config could not be made; None: it is our mistake.

    What sampo means to refuse is a `SampoError`. Anything else that is raised within sampo is ours,
    and within Lightning or the user's own classes it is about what the config asks for.
    """
    place = traceback.extract_tb(error.__traceback__)[-1]
    file = Path(place.filename)
    said = isinstance(error, SampoError | MisconfigurationException | OSError)
    if said or file.is_relative_to(_OURS):
        return None
    if union := explain_union(str(error)):
        return ConfigError(union)
    words = _one_line(error)
    if match := _INVALID_NAME.search(words):
        kind, name = match.groups()
        known = sorted(_known_names(kind))
        hint = did_you_mean(name, known) or f" There are {', '.join(known)}."
        return ConfigError(f"trainer.{kind}: there is no {kind} {name!r}.{hint}")
    where = "" if "site-packages" in file.parts else f", raised at {file}:{place.lineno}"
    return ConfigError(
        f"What the config asks for cannot be made ({type(error).__name__}{where}): {words}"
    )


def _known_names(kind: str) -> set[str]:
    if kind == "accelerator":
        return {"auto", "gpu", *AcceleratorRegistry.available_accelerators()}
    return {"auto", *StrategyRegistry.available_strategies()}


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
