"""Metrics over finished episodes, as one torchmetrics object that is right over ranks.

Counts only: what an episode is, and which episodes there are, was decided upstream. The modules
update it in `validation_step`; the report uses it for its totals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from sampo.episode import Episode, StopReason

_COUNTS = ("episodes", "failed", "successes", "turns", "valid_actions", "valid_formats", "tokens")
_SUMS = ("reward", "score", "turn_weighted_reward")
_STOPS = (StopReason.TERMINATED, StopReason.MAX_TURNS, StopReason.CONTEXT)


class EpisodeMetrics(Metric):
    """Success, return, turns, validity, truncation and reply length of episodes.

    All means are ratios of two sums that are reduced over ranks before they are divided, so uneven
    ranks weigh what they should. Failed episodes (the environment broke) are counted in
    `failed_episodes` and enter nothing else. A ratio over nothing is NaN, never a zero that
    looks like a result.

    Task types are not fixed beforehand: an environment may have types that a split or a rank does
    not show. Their counts travel between ranks as one flat tensor that carries the names as UTF-8
    bytes (see `_encode_types`), so ranks may have seen different types, or none.

    `compute()` returns scalar tensors:

    * `success_rate`: successful episodes over episodes;
    * `reward`, `score`: mean return over episodes, raw and minus penalties;
    * `turn_weighted_score`: mean over all *turns* of the raw return of their episode. The score of
      the paper's tables for ALFWorld and Sokoban: long episodes weigh more, so it is not
      comparable with `reward`;
    * `turns`: mean per episode;
    * `valid_action_rate`, `valid_format_rate`: shares of turns;
    * `stop_terminated`, `stop_max_turns`, `stop_context`: shares of episodes by stop reason; the
      last two are those that we truncated;
    * `reply_tokens`: mean tokens per turn;
    * `episodes`, `failed_episodes`: counts;
    * `success_rate/TYPE`: per task type, where episodes name one.
    """

    full_state_update = False
    counts: Tensor
    """int64, one entry per name in `_COUNTS`."""
    sums: Tensor
    """float32 (not every device has float64), one entry per name in `_SUMS`."""
    stops: Tensor
    """int64, one entry per stop reason in `_STOPS`."""
    types: list[Tensor]
    """Records made by `_encode_types`; after a sync between ranks one tensor. In `self.dtype`,
    because that is what torchmetrics sends for a rank that has none."""

    def __init__(self, **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            **kwargs: options of `torchmetrics.Metric`, e.g. `sync_on_compute`.
        """
        super().__init__(**kwargs)
        zeros = torch.zeros
        self.add_state("counts", zeros(len(_COUNTS), dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("sums", zeros(len(_SUMS)), dist_reduce_fx="sum")
        self.add_state("stops", zeros(len(_STOPS), dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("types", [], dist_reduce_fx="cat")

    def update(self, episodes: Sequence[Episode]) -> None:
        """Count finished (or failed) episodes."""
        finished = [episode for episode in episodes if not episode.failed]
        turns = [turn for episode in finished for turn in episode.turns]
        device = self.counts.device
        self.counts += torch.tensor(
            [
                len(finished),
                len(episodes) - len(finished),
                sum(episode.success for episode in finished),
                len(turns),
                sum(turn.action_valid for turn in turns),
                sum(turn.format_valid for turn in turns),
                sum(turn.num_action_tokens for turn in turns),
            ],
            device=device,
        )
        self.sums += torch.tensor(
            [
                sum(episode.reward for episode in finished),
                sum(episode.score for episode in finished),
                sum(episode.reward * len(episode.turns) for episode in finished),
            ],
            dtype=self.sums.dtype,
            device=device,
        )
        stops = Counter(episode.stop_reason for episode in finished)
        self.stops += torch.tensor([stops[reason] for reason in _STOPS], device=device)
        record = _encode_types(finished)
        if record:
            self.types.append(torch.tensor(record, dtype=self.dtype, device=device))

    def compute(self) -> dict[str, Tensor]:
        """Return the metrics of all episodes of all ranks."""
        count = dict(zip(_COUNTS, self.counts, strict=True))
        total = dict(zip(_SUMS, self.sums, strict=True))
        episodes, turns = count["episodes"], count["turns"]
        result = {
            "success_rate": count["successes"] / episodes,
            "reward": total["reward"] / episodes,
            "score": total["score"] / episodes,
            "turn_weighted_score": total["turn_weighted_reward"] / turns,
            "turns": turns / episodes,
            "valid_action_rate": count["valid_actions"] / turns,
            "valid_format_rate": count["valid_formats"] / turns,
            "reply_tokens": count["tokens"] / turns,
            "episodes": episodes.float(),
            "failed_episodes": count["failed"].float(),
        }
        for reason, ended in zip(_STOPS, self.stops, strict=True):
            result[f"stop_{reason.value}"] = ended / episodes
        for name, (successes, n) in sorted(self.type_counts().items()):
            result[f"success_rate/{name}"] = torch.tensor(successes / n, device=self.sums.device)
        return result

    def type_counts(self) -> dict[str, tuple[int, int]]:
        """Return (successes, episodes) per task type (of this rank, unless inside a sync)."""
        parts = [self.types] if isinstance(self.types, Tensor) else self.types
        return _decode_types([int(value) for part in parts for value in part.tolist()])


def _encode_types(episodes: Iterable[Episode]) -> list[int]:
    """Return one record per task type: successes, episodes, number of bytes, the bytes.

    Flat and self-delimiting, so that records of any ranks can be concatenated in any order.

    Example (three episodes of type "ab", one of them successful)::

        [1, 3, 2, 97, 98]
    """
    counts: dict[str, list[int]] = {}
    for episode in episodes:
        if episode.task_type:
            entry = counts.setdefault(episode.task_type, [0, 0])
            entry[0] += episode.success
            entry[1] += 1
    record: list[int] = []
    for name, (successes, n) in sorted(counts.items()):
        letters = name.encode()
        record += [successes, n, len(letters), *letters]
    return record


def _decode_types(record: list[int]) -> dict[str, tuple[int, int]]:
    """Return the summed (successes, episodes) per task type of concatenated records."""
    counts: dict[str, tuple[int, int]] = {}
    at = 0
    while at < len(record):
        successes, n, width = record[at : at + 3]
        name = bytes(record[at + 3 : at + 3 + width]).decode()
        before = counts.get(name, (0, 0))
        counts[name] = (before[0] + successes, before[1] + n)
        at += 3 + width
    return counts
