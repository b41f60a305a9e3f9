"""Cautions about dial 4: filters, rounds and the cold start."""

from __future__ import annotations

from sampo.advantages import GiGPO
from sampo.explain.cautions.caution import Caution, Rule
from sampo.explain.formula import num, plural
from sampo.explain.run import Run
from sampo.filtering import AccuracyBand, SpreadFilter


def filter_only_counts(run: Run) -> Caution | None:
    """Find a filter that may not replace what it drops."""
    if not run.filters or run.data.plan.max_rounds > 1:
        return None
    return Caution(
        says="max_filter_rounds 1: the filter counts, but every group it drops is trained on.",
        why="The batch is completed from dropped groups after the last round, and there is only "
        "one.",
        fix="--data.max_filter_rounds 3 (the paper), or --data.group_filter KeepAll.",
    )


def cold_start_never_ends(run: Run) -> Caution | None:
    """Find a filter that waits longer than the run takes."""
    start, judges = run.data.plan.cold_start, run.data.judges
    judged = run.filters or bool(judges.episode_filters) or judges.group_selector is not None
    if run.updates is None or not judged or start < run.updates:
        return None
    return Caution(
        says=f"filter_cold_start {start} in a run of {plural(run.updates, 'update')}: nothing is "
        "ever filtered.",
        why="Nothing is judged in the first updates, and these are all.",
        fix=f"--data.filter_cold_start {min(15, run.updates // 10)}.",
    )


def cold_start_of_nothing(run: Run) -> Caution | None:
    """Find a cold start where there is nothing to filter."""
    start, judges = run.data.plan.cold_start, run.data.judges
    judged = run.filters or bool(judges.episode_filters) or judges.group_selector is not None
    if not start or judged:
        return None
    return Caution(
        says=f"filter_cold_start {start} has no effect: KeepAll drops nothing.",
        why="It says from which update on groups are judged.",
        fix="--data.filter_cold_start 0, or --data.group_filter SpreadFilter.",
    )


def band_without_use(run: Run) -> Caution | None:
    """Find a band that no group can lie in, or only groups without information."""
    size = run.data.plan.group_size
    band = next((part for part in run.group_filters if isinstance(part, AccuracyBand)), None)
    if band is None:
        return None
    rates = [solved / size for solved in range(size + 1)]
    kept = [rate for rate in rates if band.lowest <= rate <= band.highest]
    if any(0.0 < rate < 1.0 for rate in kept):
        return None
    limits = f"[{num(band.lowest)}, {num(band.highest)}]"
    held = "no group" if not kept else "only groups that are all solved or all failed"
    return Caution(
        says=f"AccuracyBand {limits} keeps {held}, with {plural(size, 'episode')} per group.",
        why=f"Their success rates are multiples of 1/{size}; what is kept must differ within.",
        fix=f"a band that holds 1/{size}, or a larger --data.group_size."
        if size > 1
        else "--data.group_size 8.",
    )


def spread_of_one(run: Run) -> Caution | None:
    """Find a search for spread in groups of one."""
    spread = any(isinstance(part, SpreadFilter) for part in run.group_filters)
    if not spread or run.data.plan.group_size > 1:
        return None
    return Caution(
        says="SpreadFilter drops every group of one episode.",
        why="One value has no spread: all rounds are played and then filled from what was dropped.",
        fix="--data.group_size 8, or --data.group_filter KeepAll.",
    )


def format_lessons_dropped(run: Run) -> Caution | None:
    """Find a filter that drops what teaches the format, before an estimator that needs it."""
    part = next((part for part in run.group_filters if isinstance(part, SpreadFilter)), None)
    if part is None or part.criterion == "score" or isinstance(run.data.advantage, GiGPO):
        return None
    plan = run.data.plan
    if not run.data.player.invalid_action_penalty or 1 in (plan.max_rounds, plan.group_size):
        return None
    return Caution(
        says=f"SpreadFilter by {part.criterion} drops groups that all failed, though their "
        "invalid turns differ.",
        why="Those teach the format. The paper sees the format decay with filtering and GRPO "
        "(46 to 43 on average) and not with GiGPO (50 to 53).",
        fix="--data.group_filter.criterion score, or --data.advantage GiGPO.",
    )


FILTERING_RULES: tuple[Rule, ...] = (
    filter_only_counts,
    cold_start_never_ends,
    cold_start_of_nothing,
    band_without_use,
    spread_of_one,
    format_lessons_dropped,
)
