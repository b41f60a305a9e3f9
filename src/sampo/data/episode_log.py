"""Episodes as JSON lines, to be read by people: one file per update or evaluation.

Text by default; token ids and log-probabilities on request. Who writes when is the business of
callbacks. `state_key` is not written: it is made for hashing, not for reading.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sampo.episode import Episode, FinishReason, StopReason, Turn
from sampo.errors import ConfigError, MissingDataError

_IDS = ("prompt_ids", "action_ids", "sampling_logprobs")
_TURN_FIELDS = (
    "observation",
    "reply",
    "action",
    "reward",
    "penalty",
    "format_valid",
    "action_valid",
    "admissible_actions",
    "starts_row",
    "finish_reason",
    "policy_version",
)


@dataclass(frozen=True, kw_only=True)
class EpisodeRecord:
    """One episode and what became of it."""

    episode: Episode
    update: int
    """Update that it was rolled out for, or after which it was evaluated."""
    group: int = 0
    """Number of its group within the update; episodes of one group share task and seed."""
    kept: bool = True
    """Whether it was trained on (evaluation: true)."""
    drop_reason: str | None = None
    """Why not: the filter's reason, or `failed`."""


def write_episodes(
    path: str | Path, episodes: Iterable[EpisodeRecord | Episode], *, with_ids: bool = False
) -> Path:
    """Write one JSON object per episode and line; the file appears when it is complete.

    Args:
        path: the file, replaced if it exists; its folder is made.
        episodes: may be a generator. An episode without a record counts as kept, at the update that
            its policy version names.
        with_ids: whether to write token ids and sampling log-probabilities too.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8") as lines:
            for entry in episodes:
                record = entry if isinstance(entry, EpisodeRecord) else _record(entry)
                text = json.dumps(_to_json(record, with_ids), ensure_ascii=False)
                lines.write(text + "\n")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def read_episodes(path: str | Path) -> list[EpisodeRecord]:
    """Read a file of `write_episodes` back.

    Token ids are empty where they were not written; `state_key` is None.

    Raises:
        MissingDataError: there is no such file.
        ConfigError: a line is not one of ours; says which.
    """
    source = Path(path)
    if not source.is_file():
        raise MissingDataError(
            f"No episodes at {source.absolute()}. Runs write them to episodes/ in their folder; "
            "old updates are deleted, see `keep_updates` of `EpisodeWriter`."
        )
    records: list[EpisodeRecord] = []
    with source.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                records.append(_from_json(json.loads(line)))
            except (ValueError, KeyError, TypeError) as error:
                raise ConfigError(
                    f"Line {number} of {source} is not an episode as sampo writes it: {error!r}."
                ) from error
    return records


def _record(episode: Episode) -> EpisodeRecord:
    """Return the record of an episode that nothing more is known of."""
    return EpisodeRecord(episode=episode, update=max(episode.policy_version, 0))


def _to_json(record: EpisodeRecord, with_ids: bool) -> dict[str, Any]:
    """Return a record as JSON values."""
    episode = record.episode
    return {
        "update": record.update,
        "group": record.group,
        "kept": record.kept,
        "drop_reason": record.drop_reason,
        "task": episode.task,
        "seed": episode.seed,
        "task_type": episode.task_type,
        "success": episode.success,
        "reward": _number(episode.reward),
        "score": _number(episode.score),
        "stop_reason": episode.stop_reason.value,
        "policy_version": episode.policy_version,
        "action_tokens": episode.num_action_tokens,
        "error": episode.error,
        "metrics": {name: _number(value) for name, value in episode.metrics.items()},
        "turns": [_turn_to_json(turn, with_ids) for turn in episode.turns],
    }


def _turn_to_json(turn: Turn, with_ids: bool) -> dict[str, Any]:
    """Return a turn as JSON values."""
    values = vars(turn)
    row = {name: values[name] for name in _TURN_FIELDS}
    row["reward"] = _number(turn.reward)
    row["finish_reason"] = turn.finish_reason.value
    if with_ids:
        row |= {name: list(values[name]) for name in _IDS}
    return row


def _from_json(row: Mapping[str, Any]) -> EpisodeRecord:
    """Return the record of a JSON object."""
    episode = Episode(
        task=row["task"],
        seed=row["seed"],
        task_type=row["task_type"],
        success=row["success"],
        stop_reason=StopReason(row["stop_reason"]),
        error=row["error"],
        metrics={name: _float(value) for name, value in row["metrics"].items()},
        turns=tuple(_turn_from_json(turn) for turn in row["turns"]),
    )
    return EpisodeRecord(
        episode=episode,
        update=row["update"],
        group=row["group"],
        kept=row["kept"],
        drop_reason=row["drop_reason"],
    )


def _turn_from_json(row: Mapping[str, Any]) -> Turn:
    """Return the turn of a JSON object."""
    admissible = row["admissible_actions"]
    return Turn(
        **{
            **row,
            "reward": _float(row["reward"]),
            "admissible_actions": None if admissible is None else tuple(admissible),
            "finish_reason": FinishReason(row["finish_reason"]),
            **{name: tuple(row.get(name, ())) for name in _IDS},
        }
    )


def _number(value: float) -> float | None:
    """Return a number that JSON can express; None stands for NaN and infinities."""
    return float(value) if math.isfinite(value) else None


def _float(value: float | None) -> float:
    """Return the number that `_number` wrote."""
    return math.nan if value is None else value
