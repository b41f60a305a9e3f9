"""How the prompts of newly started rows are fed: equal ones once, and in passes of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from sampo.rollout.slot_table import Row

R = TypeVar("R", bound=Row)


def share_prompts(rows: Sequence[R]) -> tuple[list[R], list[tuple[R, R]]]:
    """Find the rows that need not be fed, because an equal prompt is fed with them.

    The members of a group have the same first prompt, so there this divides the work by the group
    size. Rows that resume a session are always fed; they have little to feed.

    Returns:
        The rows to feed, those with the fewest new tokens first, and the others, each with the
        row to copy from.
    """
    by_prompt: dict[tuple[int, ...], R] = {}
    leaders: list[R] = []
    followers: list[tuple[R, R]] = []
    for row in rows:
        leader = row if row.cached else by_prompt.setdefault(tuple(row.ids), row)
        if leader is row:
            leaders.append(row)
        else:
            followers.append((row, leader))
    return sorted(leaders, key=_new_tokens), followers


def split_by_tokens(rows: Sequence[R], budget: int) -> Iterator[list[R]]:
    """Yield consecutive runs of at most `budget` new tokens, padding included.

    Args:
        rows: at least one; those with the fewest new tokens first.
        budget: a row with more than this gets a run of its own.
    """
    part: list[R] = []
    for row in rows:
        if part and (len(part) + 1) * _new_tokens(row) > budget:
            yield part
            part = []
        part.append(row)
    yield part


def _new_tokens(row: Row) -> int:
    return len(row.ids) - row.cached
