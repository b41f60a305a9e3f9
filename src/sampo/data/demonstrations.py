"""Demonstrations on disk: episodes as text, one Parquet row per episode.

Written by `sampo collect`, read by behaviour cloning. Text only: token ids belong to one tokenizer
and one chat template, and are made again by whoever trains. What counts as a demonstration (solved
episodes only, say) is the writer's choice, not this module's.

**Schema, version 1.** File metadata: `sampo.demonstrations` = the version, and the writer's own
entries under `sampo.` (`sampo.env`, ...). Columns:

====================  =================  ===========================================================
`task`                string             task id, unique within the environment and split
`seed`                int64              seed given to the environment's reset
`task_type`           string             category for reports; empty: none
`success`             bool
`reward`              double             undiscounted return, penalties not subtracted
`stop_reason`         string             a value of `sampo.episode.StopReason`
`policy`              string             who acted: `expert`, `expert(noise=0.2)`, a checkpoint
`turns`               list of struct     in order, with the fields below
====================  =================  ===========================================================

Each turn: `observation` string, `reply` string (the policy's whole text, thoughts included, without
special tokens), `action` string or null (what the environment was given; null: none could be read),
`reward` double, `format_valid` bool, `action_valid` bool, `admissible_actions` list of string or
null (null: they cannot be listed). Further columns are allowed and ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sampo.data.demonstration_summary import DemonstrationSummary, DemonstrationTally
from sampo.episode import Episode, StopReason, Turn
from sampo.errors import ConfigError, MissingDataError

SCHEMA_VERSION = 1
_PREFIX = "sampo."
_VERSION_KEY = "demonstrations"
_TURN = pa.struct(
    [
        pa.field("observation", pa.string(), nullable=False),
        pa.field("reply", pa.string(), nullable=False),
        pa.field("action", pa.string()),
        pa.field("reward", pa.float64(), nullable=False),
        pa.field("format_valid", pa.bool_(), nullable=False),
        pa.field("action_valid", pa.bool_(), nullable=False),
        pa.field("admissible_actions", pa.list_(pa.string())),
    ]
)
SCHEMA = pa.schema(
    [
        pa.field("task", pa.string(), nullable=False),
        pa.field("seed", pa.int64(), nullable=False),
        pa.field("task_type", pa.string(), nullable=False),
        pa.field("success", pa.bool_(), nullable=False),
        pa.field("reward", pa.float64(), nullable=False),
        pa.field("stop_reason", pa.string(), nullable=False),
        pa.field("policy", pa.string(), nullable=False),
        pa.field("turns", pa.list_(_TURN), nullable=False),
    ]
)


@dataclass(frozen=True, kw_only=True)
class Demonstrations:
    """The content of a file of demonstrations."""

    episodes: Sequence[Episode]
    """Text only: the turns hold no token ids."""
    policies: Sequence[str]
    """Per episode, who acted."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """The writer's entries, without their prefix."""

    def summary(self) -> DemonstrationSummary:
        """Return what they hold."""
        tally = DemonstrationTally()
        for episode, policy in zip(self.episodes, self.policies, strict=True):
            tally.add(episode, policy)
        return tally.summary()


def write_demonstrations(
    path: str | Path,
    episodes: Iterable[Episode],
    *,
    policy: str,
    metadata: Mapping[str, str] | None = None,
    rows_per_write: int = 256,
) -> DemonstrationSummary:
    """Write episodes to a Parquet file as they come, and return what was written.

    The file appears under its name only when it is complete; an existing file is replaced then.
    Failed episodes are left out: they say nothing of whoever acted.

    Args:
        path: the file; its folder is made.
        episodes: may be a generator; `rows_per_write` of them are held at a time.
        policy: who acted.
        metadata: kept in the file, e.g. `{"env": ..., "split": "train"}`.
        rows_per_write: episodes per row group.

    Raises:
        MissingDataError: there was no episode to write.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    entries = {_VERSION_KEY: str(SCHEMA_VERSION), **(metadata or {})}
    schema = SCHEMA.with_metadata({_PREFIX + key: value for key, value in entries.items()})
    tally = DemonstrationTally()
    rows: list[dict[str, Any]] = []
    try:
        with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
            for episode in episodes:
                if episode.failed:
                    continue
                tally.add(episode, policy)
                rows.append(_to_row(episode, policy))
                if len(rows) == rows_per_write:
                    writer.write_table(pa.Table.from_pylist(rows, schema=schema))
                    rows = []
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
        if not tally.episodes:
            raise MissingDataError(
                f"No episode to write to {target}: nothing was collected, or nothing passed the "
                "threshold. Lower it, or collect more."
            )
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return tally.summary()


def read_demonstrations(path: str | Path) -> Demonstrations:
    """Read a file of demonstrations.

    Raises:
        MissingDataError: there is no such file.
        ConfigError: the file is no Parquet file, not of this schema, or of another version.
    """
    source = Path(path)
    if not source.is_file():
        raise MissingDataError(
            f"No demonstrations at {source.absolute()}. Make them with `sampo collect`, or correct "
            "the path."
        )
    try:
        table = pq.read_table(source)
    except pa.ArrowInvalid as error:
        raise ConfigError(f"{source} is not a Parquet file, or is damaged: {error}") from error
    metadata = _check_version(source, table.schema)
    rows = _conform(source, table).to_pylist()
    reasons = {row["stop_reason"] for row in rows} - {reason.value for reason in StopReason}
    if reasons:
        raise ConfigError(f"{source} has unknown stop reasons: {', '.join(sorted(reasons))}.")
    return Demonstrations(
        episodes=tuple(_to_episode(row) for row in rows),
        policies=tuple(row["policy"] for row in rows),
        metadata=metadata,
    )


def _check_version(source: Path, schema: pa.Schema) -> dict[str, str]:
    """Return the writer's metadata; refuse files of another kind or version."""
    pairs = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    entries = {k.removeprefix(_PREFIX): v for k, v in pairs.items() if k.startswith(_PREFIX)}
    version = entries.pop(_VERSION_KEY, None)
    if version is None:
        raise ConfigError(
            f"{source} is a Parquet file but not one of demonstrations: it lacks the metadata "
            f"entry {_PREFIX}{_VERSION_KEY}. Make demonstrations with `sampo collect`."
        )
    if version != str(SCHEMA_VERSION):
        raise ConfigError(
            f"{source} holds demonstrations of schema version {version}; this sampo reads version "
            f"{SCHEMA_VERSION}. Collect them again, or use the sampo that wrote them."
        )
    return entries


def _conform(source: Path, table: pa.Table) -> pa.Table:
    """Return the columns of the schema, in its types."""
    missing = [name for name in SCHEMA.names if name not in table.column_names]
    if missing:
        raise ConfigError(
            f"{source} lacks the column(s) {', '.join(missing)} of the demonstration schema."
        )
    try:
        return table.select(SCHEMA.names).cast(SCHEMA)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, ValueError) as error:
        raise ConfigError(
            f"{source} does not have the demonstration schema: {error}. "
            f"Its columns are {', '.join(f'{f.name}: {f.type}' for f in table.schema)}."
        ) from error


def _to_row(episode: Episode, policy: str) -> dict[str, Any]:
    """Return the Parquet row of an episode."""
    return {
        "task": episode.task,
        "seed": episode.seed,
        "task_type": episode.task_type,
        "success": episode.success,
        "reward": float(episode.reward),
        "stop_reason": episode.stop_reason.value,
        "policy": policy,
        "turns": [
            {
                "observation": turn.observation,
                "reply": turn.reply,
                "action": turn.action,
                "reward": float(turn.reward),
                "format_valid": turn.format_valid,
                "action_valid": turn.action_valid,
                "admissible_actions": turn.admissible_actions,
            }
            for turn in episode.turns
        ],
    }


def _to_episode(row: Mapping[str, Any]) -> Episode:
    """Return the episode of a Parquet row."""
    turns = []
    for turn in row["turns"]:
        admissible = turn["admissible_actions"]
        fixed = None if admissible is None else tuple(admissible)
        turns.append(Turn(**{**turn, "admissible_actions": fixed}))
    return Episode(
        task=row["task"],
        seed=row["seed"],
        task_type=row["task_type"],
        success=row["success"],
        stop_reason=StopReason(row["stop_reason"]),
        turns=tuple(turns),
    )
