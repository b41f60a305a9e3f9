"""What a checkpoint says of the run that wrote it: its config, and the versions of its software."""

from __future__ import annotations

import platform
from importlib.metadata import version

import lightning as L
from lightning.pytorch.cli import SaveConfigCallback

_PACKAGES = ("sampo", "torch", "lightning", "transformers")


def versions() -> dict[str, str]:
    """Return the versions of sampo, what it stands on, and Python."""
    return {name: version(name) for name in _PACKAGES} | {"python": platform.python_version()}


def differing_versions(then: dict[str, str]) -> str:
    """Return which versions are not those of a checkpoint, in words; empty if all are."""
    now = versions()
    return ", ".join(
        f"{name} {then[name]} (now {now.get(name)})" for name in then if then[name] != now.get(name)
    )


def config_text(trainer: L.Trainer) -> str | None:
    """Return the complete config of a run in YAML; None if it did not come from a config."""
    for callback in trainer.callbacks:  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(callback, SaveConfigCallback):
            return callback.parser.dump(callback.config, skip_none=False)
    return None
