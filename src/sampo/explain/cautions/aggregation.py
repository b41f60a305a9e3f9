"""Cautions about dial 1, and about what a sequence is."""

from __future__ import annotations

from sampo.explain.cautions.caution import Caution, Rule
from sampo.explain.formula import one
from sampo.explain.run import Run
from sampo.losses import SoftGate


def long_sequences_count_more(run: Run) -> Caution | None:
    """Find a mean over tokens of what is bounded sequence by sequence."""
    level = run.loss.ratio.level
    if run.loss.aggregation.kind != "token_mean" or level == "token":
        return None
    return Caution(
        says=f"aggregation token_mean with {one(level)} ratio lets long {level}s count more.",
        why=f"There is one ratio for {one(level)}, but it weighs by its tokens. This is the "
        "paper's Eq. 8; the code that made its results takes the mean over sequences of the token "
        "mean.",
        fix="--model.loss.aggregation.kind sequence_mean_token_mean, or keep it for Eq. 8.",
    )


def torn_means(run: Run) -> Caution | None:
    """Find an aggregation and a ratio that disagree about what a sequence is."""
    rule, level = run.loss.aggregation, run.loss.ratio.level
    if rule.kind == "token_mean" or level in ("token", rule.level):
        return None
    return Caution(
        says=f"The ratio is that of {one(level)}, but the aggregation's sequence is "
        f"{one(rule.level)}.",
        why="Only where both are the same is the gradient that of A times the sequence's ratio.",
        fix=f"--model.loss.aggregation.level {level}, or --model.loss.ratio.level {rule.level}.",
    )


def episodes_over_window_rows(run: Run) -> Caution | None:
    """Find episodes asked for as sequences where a row is a turn."""
    places = _places(run, "episode")
    if run.rows_are_episodes or not places:
        return None
    return Caution(
        says=f"{' and '.join(places)} is episode, but in {_context(run)} a row is one turn.",
        why='The paper\'s "sequence" is a row, so a turn; here all rows of an episode, up to '
        f"{run.max_turns}, are taken together and stay in one micro-batch.",
        fix="level turn for the paper's methods, or keep it for episode-level clipping.",
    )


def turns_within_transcript_rows(run: Run) -> Caution | None:
    """Find turns as sequences where a row, and so many a reader's sequence, is an episode."""
    places = _places(run, "turn")
    if not run.rows_are_episodes or not places:
        return None
    return Caution(
        says=f"{' and '.join(places)} is turn, but in {_context(run)} a row is a whole episode.",
        why="Every reply is a sequence of its own, as in the paper. Where others say sequence and "
        "mean the row, that is level episode here.",
        fix="keep it for the paper's methods, or level episode for one ratio and mean per row.",
    )


def _places(run: Run, level: str) -> list[str]:
    """Return the settings that make a sequence what `level` says."""
    loss = run.loss
    places: list[str] = []
    if loss.ratio.level == level:
        places.append("ratio.level")
    if loss.aggregation.kind != "token_mean" and loss.aggregation.level == level:
        places.append("aggregation.level")
    if loss.masking is not None and loss.masking.level == level:
        places.append("masking.level")
    if isinstance(loss.surrogate, SoftGate) and loss.surrogate.sequence == level:
        places.append("surrogate.sequence")
    return places


def fixed_length_is_not_the_limit(run: Run) -> Caution | None:
    """Find a divisor that is not the length a sequence can have."""
    rule = run.loss.aggregation
    if rule.kind != "sum_over_max_length" or rule.max_length is None:
        return None
    limit = run.max_new_tokens * (run.max_turns if rule.level == "episode" else 1)
    if rule.max_length == limit:
        return None
    return Caution(
        says=f"aggregation.max_length is {rule.max_length:,}, but {one(rule.level)} has at most "
        f"{limit:,} action tokens.",
        why="It scales the surrogate against the KL term and is no average over tokens.",
        fix=f"--model.loss.aggregation.max_length {limit}, or null at level turn for the limit.",
    )


def _context(run: Run) -> str:
    return type(run.context).__name__


AGGREGATION_RULES: tuple[Rule, ...] = (
    long_sequences_count_more,
    torn_means,
    episodes_over_window_rows,
    turns_within_transcript_rows,
    fixed_length_is_not_the_limit,
)
