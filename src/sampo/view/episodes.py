"""Episodes of one file: in numbers for the timeline, and in full for the browser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sampo.data.episode_log import EpisodeRecord, TurnPieces, iter_episodes
from sampo.data.token_file import TokenTable, read_tokens, token_path
from sampo.episode import Turn
from sampo.errors import ConfigError
from sampo.view.encoding import Table, number, numbers, rounded, shortened
from sampo.view.run_files import EpisodeFile

LONGEST_TEXT = 6000
"""Characters of an observation or reply on the page."""
LONGEST_PROMPT = 400
"""Tokens of a prompt on the page; the middle of longer ones is left out."""
_SCORES = ("old_logprobs", "log_ratio", "log_weight", "entropy", "ref_kl")


@dataclass(frozen=True, kw_only=True)
class LoadedFile:
    """What one file of episodes held."""

    file: EpisodeFile
    records: list[EpisodeRecord]
    tokens: TokenTable | None
    notices: list[str]
    """What was wrong with it, one sentence each."""


def load(file: EpisodeFile) -> LoadedFile:
    """Read a file and its tokens; what is broken is left out and said."""
    records: list[EpisodeRecord] = []
    notices: list[str] = []
    try:
        records.extend(iter_episodes(file.path))  # extends one by one: a broken end loses itself
    except (ConfigError, UnicodeDecodeError) as error:
        notices.append(
            f"{file.path.name} breaks off: {error} The {len(records)} episodes before are shown."
        )
    if file.partial:
        notices.append(
            f"{file.path.name}: this rollout is not over, or broke off. The {len(records)} "
            "episodes that had ended are shown; no filter has judged them."
        )
    tokens, path = None, token_path(file.path)
    if path.is_file():
        try:
            tokens = read_tokens(path)
        except ConfigError as error:
            notices.append(f"{error} The episodes are shown without what the update did to them.")
    return LoadedFile(file=file, records=records, tokens=tokens, notices=notices)


def summary(loaded: LoadedFile) -> dict[str, Any]:
    """Return the numbers of a file, without failed episodes and greedy baselines."""
    played = [r for r in loaded.records if r.drop_reason not in ("failed", "greedy_baseline")]
    types = Counter(r.episode.task_type for r in played if r.episode.task_type)
    solved = Counter(r.episode.task_type for r in played if r.episode.success)
    return {
        "kind": loaded.file.kind,
        "step": loaded.file.step,
        "file": loaded.file.path.name,
        "episodes": len(played),
        "successes": sum(record.episode.success for record in played),
        "kept": sum(record.kept for record in played),
        "failed": sum(record.episode.failed for record in loaded.records),
        "dropped": dict(Counter(str(r.drop_reason) for r in played if not r.kept)),
        "types": {name: [solved[name], count] for name, count in sorted(types.items())},
    }


def detail(loaded: LoadedFile, *, most: int) -> dict[str, Any]:
    """Return the episodes of a file for the browser, as JSON values.

    Args:
        loaded: the file.
        most: most episodes; of more, three quarters are such that were trained on.
    """
    chosen = _bounded(loaded.records, most)
    texts, prompts, actions = Table[str](), Table[tuple[str, ...]](), Table[tuple[str, ...]]()
    updated = None if loaded.tokens is None else _UpdateEncoder(loaded.tokens)
    encoder = _TurnEncoder(texts=texts, prompts=prompts, actions=actions, updated=updated)
    first_turn = 0
    episodes: list[dict[str, Any]] = []
    for place, record in enumerate(loaded.records):
        if place in chosen:
            row = _episode(record)
            row["turns"] = [
                encoder(record, number, first_turn + number)
                for number in range(len(record.episode.turns))
            ]
            episodes.append(row)
        if record.kept:
            first_turn += len(record.episode.turns)
    return {
        "episodes": episodes,
        "left_out": len(loaded.records) - len(episodes),
        "texts": texts.values,
        "prompts": [_prompt(pieces) for pieces in prompts.values],
        "actions": actions.values,
    }


def _bounded(records: Sequence[EpisodeRecord], most: int) -> set[int]:
    """Return the places of the episodes that are shown."""
    kept = [place for place, record in enumerate(records) if record.kept]
    others = [place for place, record in enumerate(records) if not record.kept]
    num_kept = min(len(kept), max(most - len(others), most * 3 // 4))
    return set(kept[:num_kept] + others[: most - num_kept])


def _episode(record: EpisodeRecord) -> dict[str, Any]:
    """Return an episode without its turns."""
    episode = record.episode
    return {
        "group": record.group,
        "kept": record.kept,
        "filled": record.filled,
        "drop_reason": record.drop_reason,
        "task": episode.task,
        "seed": str(episode.seed),  # beyond what a number in JavaScript can hold
        "task_type": episode.task_type,
        "success": episode.success,
        "reward": number(episode.reward),
        "score": number(episode.score),
        "stop_reason": episode.stop_reason.value,
        "policy_version": episode.policy_version,
        "error": episode.error,
        "metrics": {name: number(value) for name, value in episode.metrics.items()},
    }


def _prompt(pieces: tuple[str, ...]) -> dict[str, Any]:
    """Return the token texts of a prompt, its middle left out if it is long."""
    if len(pieces) <= LONGEST_PROMPT:
        return {"pieces": pieces, "left_out": 0, "cut_at": len(pieces)}
    half = LONGEST_PROMPT // 2
    left_out = len(pieces) - 2 * half
    return {"pieces": pieces[:half] + pieces[-half:], "left_out": left_out, "cut_at": half}


@dataclass(frozen=True, kw_only=True)
class _TurnEncoder:
    """Turns as JSON values; texts that many turns share are in the tables."""

    texts: Table[str]
    prompts: Table[tuple[str, ...]]
    actions: Table[tuple[str, ...]]
    """Lists of admissible actions."""
    updated: _UpdateEncoder | None

    def __call__(self, record: EpisodeRecord, place: int, number_in_file: int) -> dict[str, Any]:
        """Return one turn of an episode, with what the update did to its tokens where known."""
        turn = record.episode.turns[place]
        advantages = record.advantages
        row: dict[str, Any] = {
            "observation": self.texts.place(shortened(turn.observation, LONGEST_TEXT)),
            "reply": self.texts.place(shortened(turn.reply, LONGEST_TEXT)),
            "action": turn.action,
            "reward": number(turn.reward),
            "penalty": number(turn.penalty),
            "format_valid": turn.format_valid,
            "action_valid": turn.action_valid,
            "state_key": turn.state_key,
            "advantage": number(advantages[place]) if advantages else None,
            "starts_row": turn.starts_row,
            "finish_reason": turn.finish_reason.value,
        }
        if turn.admissible_actions is not None:
            row["admissible"] = self.actions.place(turn.admissible_actions)
        if record.pieces is not None:
            row |= self._tokens(turn, record.pieces[place])
            if self.updated is not None and record.kept:
                update = self.updated(number_in_file, len(turn.action_ids))
                row |= {} if update is None else {"update": update}
        return row

    def _tokens(self, turn: Turn, pieces: TurnPieces) -> dict[str, Any]:
        """Return the tokens of a turn as they were sampled."""
        return {
            "prompt": self.prompts.place(pieces.prompt),
            "pieces": pieces.action,
            "ids": turn.action_ids,
            "logprobs": numbers(turn.sampling_logprobs),
        }


class _UpdateEncoder:
    """What the update did to the tokens of a turn, as JSON values."""

    def __init__(self, tokens: TokenTable) -> None:
        columns = tokens.columns
        self._spans = tokens.spans
        self._scores = {name: rounded(columns[name]) for name in _SCORES if name in columns}
        self._advantages = rounded(columns["advantages"])
        flags = columns["clipped"] + 2 * columns["clipped_lower"] + 4 * (~columns["kept"])
        self._flags: list[int] = flags.tolist()

    def __call__(self, turn: int, num_tokens: int) -> dict[str, Any] | None:
        """Return one list per score; None if the turn was not recorded with that many tokens."""
        span = self._spans.get(turn)
        if span is None or span.stop - span.start != num_tokens:
            return None
        row: dict[str, Any] = {name: values[span] for name, values in self._scores.items()}
        return row | {
            "advantages": _once(self._advantages[span]),
            "flags": _once(self._flags[span]),
        }


def _once(values: list[Any]) -> Any:
    """Return the one value that all of them are, or all of them."""
    return values[0] if values and len(set(values)) == 1 else values
