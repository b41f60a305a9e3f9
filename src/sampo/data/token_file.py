"""What an update did to single tokens, in a file next to its episodes.

Made from a `TokenLog` after the update, read by the viewer without torch. About 20 bytes per token:
turn numbers once per turn, three bool columns in one byte, half precision where three digits do.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from sampo.errors import ConfigError

_COLUMNS = {
    "advantages": np.float32,
    "old_logprobs": np.float32,
    "log_ratio": np.float32,
    "log_weight": np.float32,
    "entropy": np.float16,
    "ref_kl": np.float16,
}
_FLAGS = ("clipped", "clipped_lower", "kept")
"""Bits of the `flags` column, lowest first."""


@dataclass(frozen=True, kw_only=True)
class TokenTable:
    """Action tokens of an update by turn; turns without action tokens are not in it."""

    spans: Mapping[int, slice]
    """Where the tokens of a turn are; turns are numbered over the kept episodes of a file."""
    columns: Mapping[str, NDArray[Any]]
    """`[N]` each, tokens of a turn in their order: advantages, old_logprobs, log_ratio,
    log_weight, clipped, clipped_lower, kept, and entropy and ref_kl if they were measured."""


def token_path(episodes: str | Path) -> Path:
    """Return where the tokens of a file of episodes are: `update_000012.tokens.safetensors`."""
    return Path(episodes).with_suffix(".tokens.safetensors")


def write_tokens(path: str | Path, log: Any, *, num_turns: int) -> Path:
    """Write the tokens of the first turns; the file appears when it is complete.

    Args:
        path: the file, replaced if it exists.
        log: a `TokenLog` with every token once, turns in any order.
        num_turns: number of turns that are written; later ones are left out.
    """
    turns = _array(log.turn)
    chosen = np.flatnonzero(turns < num_turns)
    order = chosen[np.argsort(turns[chosen], kind="stable")]
    numbers, lengths = np.unique(turns[order], return_counts=True)
    tensors: dict[str, NDArray[Any]] = {
        "turn": numbers.astype(np.int32),
        "length": lengths.astype(np.int32),
        "flags": np.zeros(len(order), np.uint8),
    }
    for bit, name in enumerate(_FLAGS):
        tensors["flags"] |= _array(getattr(log, name))[order].astype(np.uint8) << bit
    for name, kind in _COLUMNS.items():
        values = getattr(log, name)
        if values is not None:
            limit = float(np.finfo(kind).max)
            tensors[name] = np.clip(_array(values.float())[order], -limit, limit).astype(kind)
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(save(tensors))  # `save_file` would make it unreadable for others
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def read_tokens(path: str | Path) -> TokenTable:
    """Read a file of `write_tokens` back.

    Raises:
        ConfigError: the file is damaged, or none of ours.
    """
    try:
        tensors = load_file(path)
        lengths, turns, flags = (tensors[name] for name in ("length", "turn", "flags"))
    except (SafetensorError, KeyError) as error:
        raise ConfigError(
            f"{path} does not hold the tokens of an update as sampo writes them: {error}."
        ) from error
    ends = zip(turns.tolist(), lengths.tolist(), np.cumsum(lengths).tolist(), strict=True)
    spans = {turn: slice(end - length, end) for turn, length, end in ends}
    columns = {name: tensors[name] for name in _COLUMNS if name in tensors}
    bits = {name: (flags >> bit & 1).astype(bool) for bit, name in enumerate(_FLAGS)}
    return TokenTable(spans=spans, columns={**columns, **bits})


def _array(values: Any) -> NDArray[Any]:
    """Return a tensor as an array."""
    return np.asarray(values.cpu().numpy())
