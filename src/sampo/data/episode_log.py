"""Episodes as JSON lines, to be read by people: one file per update or evaluation.

Text always; tokens and their log-probabilities where the record has their texts. Who writes when is
the business of callbacks. Reading needs no torch: the viewer does it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sampo.episode import Episode, FinishReason, StopReason, Turn
from sampo.errors import ConfigError, MissingDataError

NOT_JUDGED = "not_judged"
"""The `drop_reason` of an episode that ended in a rollout that is not over."""
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
class TurnPieces:
    """The tokens of a turn as text, one piece per token, special tokens included."""

    prompt: tuple[str, ...]
    """Of `prompt_ids`; not trained on."""
    action: tuple[str, ...]
    """Of `action_ids`."""


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
    """Why not: the filter's reason, `failed`, or `not_judged` (the rollout broke off)."""
    filled: bool = False
    """Whether the filter had dropped its group, which was trained on for want of a better one."""
    advantages: tuple[float | None, ...] | None = None
    """Per turn, before any stage that sees the whole batch; None for a turn without action tokens.
    None for all: the episode was not trained on."""
    pieces: tuple[TurnPieces, ...] | None = None
    """Per turn. Given: token ids and sampling log-probabilities are written too."""


def write_episodes(path: str | Path, episodes: Iterable[EpisodeRecord | Episode]) -> Path:
    """Write one JSON object per episode and line; the file appears when it is complete.

    Args:
        path: the file, replaced if it exists; its folder is made.
        episodes: may be a generator. An episode without a record counts as kept, at the update that
            its policy version names.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8") as lines:
            for entry in episodes:
                record = entry if isinstance(entry, EpisodeRecord) else _record(entry)
                lines.write(episode_line(record))
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def episode_line(record: EpisodeRecord) -> str:
    """Return an episode as one line of JSON, line break included."""
    return json.dumps(_to_json(record), ensure_ascii=False) + "\n"


def read_episodes(path: str | Path) -> list[EpisodeRecord]:
    """Read a file of `write_episodes` back.

    Tokens are empty where they were not written; `state_key` is a hash of what it was.

    Raises:
        MissingDataError: there is no such file.
        ConfigError: a line is not one of ours; says which.
    """
    return list(iter_episodes(path))


def iter_episodes(path: str | Path) -> Iterator[EpisodeRecord]:
    """Yield what `read_episodes` returns, so that the lines before a broken one can be had."""
    source = Path(path)
    if not source.is_file():
        raise MissingDataError(
            f"No episodes at {source.absolute()}. Runs write them to episodes/ in their folder; "
            "old updates are deleted, see `keep_updates` of `EpisodeWriter`."
        )
    with source.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                record = _from_json(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise ConfigError(
                    f"Line {number} of {source} is not an episode as sampo writes it: {error!r}."
                ) from error
            yield record


def state_hash(key: Hashable) -> str | None:
    """Return a short name of a `state_key`: equal keys have equal names, in every process.

    Of its `repr`, because `hash` differs from process to process; the members of sets are sorted.
    """
    if key is None:
        return None
    return blake2b(_ordered(key).encode(), digest_size=6).hexdigest()


def _ordered(key: Hashable) -> str:
    if isinstance(key, frozenset):
        return f"{{{', '.join(sorted(map(_ordered, key)))}}}"
    if isinstance(key, tuple):
        return f"({', '.join(map(_ordered, key))})"
    return repr(key)


def _record(episode: Episode) -> EpisodeRecord:
    """Return the record of an episode that nothing more is known of."""
    return EpisodeRecord(episode=episode, update=max(episode.policy_version, 0))


def _to_json(record: EpisodeRecord) -> dict[str, Any]:
    """Return a record as JSON values."""
    episode = record.episode
    advantages = record.advantages
    pieces = record.pieces or (None,) * len(episode.turns)
    return {
        "update": record.update,
        "group": record.group,
        "kept": record.kept,
        "drop_reason": record.drop_reason,
        "filled": record.filled,
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
        "advantages": None if advantages is None else [_number(value) for value in advantages],
        "turns": [_turn_to_json(*pair) for pair in zip(episode.turns, pieces, strict=True)],
    }


def _turn_to_json(turn: Turn, pieces: TurnPieces | None) -> dict[str, Any]:
    """Return a turn as JSON values."""
    values = vars(turn)
    row = {name: values[name] for name in _TURN_FIELDS}
    row["reward"] = _number(turn.reward)
    row["state_key"] = state_hash(turn.state_key)
    row["finish_reason"] = turn.finish_reason.value
    if pieces is not None:
        row |= {name: list(values[name]) for name in _IDS}
        row |= {"prompt_pieces": list(pieces.prompt), "action_pieces": list(pieces.action)}
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
    advantages = row.get("advantages")
    return EpisodeRecord(
        episode=episode,
        update=row["update"],
        group=row["group"],
        kept=row["kept"],
        drop_reason=row["drop_reason"],
        filled=row.get("filled", False),
        advantages=None if advantages is None else tuple(advantages),
        pieces=_pieces(row["turns"]),
    )


def _pieces(turns: list[Mapping[str, Any]]) -> tuple[TurnPieces, ...] | None:
    """Return the token texts of an episode; None where they were not written."""
    if not any("action_pieces" in turn for turn in turns):
        return None
    return tuple(
        TurnPieces(prompt=tuple(turn["prompt_pieces"]), action=tuple(turn["action_pieces"]))
        for turn in turns
    )


def _turn_from_json(row: Mapping[str, Any]) -> Turn:
    """Return the turn of a JSON object."""
    admissible = row["admissible_actions"]
    return Turn(
        **{
            **{name: row[name] for name in _TURN_FIELDS},
            "reward": _float(row["reward"]),
            "admissible_actions": None if admissible is None else tuple(admissible),
            "state_key": row.get("state_key"),
            "finish_reason": FinishReason(row["finish_reason"]),
            **{name: tuple(row.get(name, ())) for name in _IDS},
        }
    )


def _number(value: float | None) -> float | None:
    """Return a number that JSON can express; None stands for NaN and infinities, too."""
    return float(value) if value is not None and math.isfinite(value) else None


def _float(value: float | None) -> float:
    """Return the number that `_number` wrote."""
    return math.nan if value is None else value
