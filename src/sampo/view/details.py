"""Which files of episodes are on the page in full, so that it stays small."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sampo.view.encoding import chunk
from sampo.view.episodes import detail, load, summary
from sampo.view.run_files import EpisodeFile

PAGE_BUDGET = 14_000_000
"""Bytes of all episodes on the page."""
FILE_BUDGET = 1_500_000
"""Bytes of one file's episodes: they are unpacked when the file is chosen, within a blink."""
MOST_EPISODES = 512
"""Of one file, to begin with."""


@dataclass(kw_only=True)
class Details:
    """What the files of episodes came to."""

    summaries: list[dict[str, Any]] = field(default_factory=list)
    """One per file, by step; `chunk` is the place in `chunks`, or None."""
    chunks: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def collect(
    files: Sequence[EpisodeFile], alarmed: Collection[int], *, budget: int = PAGE_BUDGET
) -> Details:
    """Read every file once, the important ones first, and keep what the budget allows.

    Args:
        files: all files of episodes.
        alarmed: steps with an alarm.
        budget: bytes of the episodes on the page.
    """
    details = Details()
    for file in by_importance(files, alarmed):
        loaded = load(file)
        row = summary(loaded)
        row["chunk"] = None
        if loaded.records and budget > 0:
            text = _fitted(loaded)
            budget -= len(text)
            if budget >= 0:
                row["chunk"] = len(details.chunks)
                details.chunks.append(text)
        details.summaries.append(row)
        details.notices += loaded.notices
    places = {file.path.name: place for place, file in enumerate(files)}
    details.summaries.sort(key=lambda row: places[row["file"]])
    return details


def by_importance(files: Sequence[EpisodeFile], alarmed: Collection[int]) -> Iterator[EpisodeFile]:
    """Yield all files: the newest two, those with an alarm, the first, then evenly spread ones."""
    order = list(range(len(files)))
    first = order[-2:] + [i for i in order if files[i].step in alarmed] + order[:1]
    yield from (files[i] for i in dict.fromkeys(first + _spread(len(files))))


def _spread(count: int) -> list[int]:
    """Return 0 to `count` - 1 so that any beginning of the list is spread over all of them.

    Example:
        >>> _spread(5)
        [0, 4, 2, 1, 3]
    """
    places: dict[int, None] = {}
    width = max(count, 1)
    while len(places) < count:
        places |= dict.fromkeys([*range(0, count, width), *([count - 1] if count else [])])
        width = max(width // 2, 1)
    return list(places)


def _fitted(loaded: Any) -> str:
    """Return the episodes of a file as a chunk, of fewer episodes if it would be too large."""
    most = MOST_EPISODES
    text = chunk(detail(loaded, most=most))
    while len(text) > FILE_BUDGET and most > 8:
        most //= 2
        text = chunk(detail(loaded, most=most))
    return text
