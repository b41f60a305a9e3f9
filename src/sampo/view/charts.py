"""Which curves are drawn together, in which order, and what each chart says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sampo.view.curves import Curve


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One small chart."""

    title: str
    note: str
    """What its numbers are, in a line."""
    series: Mapping[str, str]
    """Label by tag. A `*` in a tag stands for any text, which is then the label, except where a
    chart names the whole tag."""
    absent_is_zero: bool = False
    """Counts that are logged only where there was something to count."""


@dataclass(frozen=True, kw_only=True)
class DrawnChart:
    """A chart with curves that are there."""

    section: str
    title: str
    note: str
    series: dict[str, str]
    """Label by tag."""


def _chart(title: str, note: str, series: Mapping[str, str], *, zero: bool = False) -> Chart:
    return Chart(title=title, note=note, series=series, absent_is_zero=zero)


_CELLS = {
    "negative_below": "A<0 r<1",
    "negative_above": "A<0 r>1",
    "positive_below": "A>0 r<1",
    "positive_above": "A>0 r>1",
}
"""Sign of the advantage, side of the ratio."""
_OF_CELLS = {
    "token_share": ("tokens", "share of all"),
    "clip_fraction": ("clipped", "share of the cell's tokens"),
    "kl_share": ("KL to the reference", "share of the sum"),
    "ratio_p05": ("low ratios", "5th percentile"),
    "ratio_p50": ("ratios", "median"),
    "ratio_p95": ("high ratios", "95th percentile"),
}


def _cells(group: str, prefix: str) -> tuple[Chart, ...]:
    return tuple(
        _chart(
            f"{prefix}: {name}",
            note,
            {f"train/{group}/{cell}/{ending}": label for cell, label in _CELLS.items()},
        )
        for ending, (name, note) in _OF_CELLS.items()
    )


def _played(name: str) -> dict[str, str]:
    return {f"rollout/{name}": "rollouts", f"eval/{name}": "held-out"}


SECTIONS: dict[str, tuple[Chart, ...]] = {
    "Outcome": (
        _chart(
            "Success rate", "share of episodes; rollouts with dropped ones", _played("success_rate")
        ),
        _chart("Reward", "mean return, without penalties", _played("reward")),
        _chart(
            "Valid replies",
            "share of rollout turns",
            {"rollout/valid_format_rate": "format", "rollout/valid_action_rate": "action"},
        ),
        _chart("Turns", "mean per episode", _played("turns")),
        _chart("Reply length", "mean tokens per turn", _played("reply_tokens")),
        _chart(
            "Degenerate replies",
            "share of rollout turns that hit the limit; repeated n-grams",
            {"rollout/truncated_reply_rate": "cut", "rollout/repetition_rate": "repetition"},
        ),
        _chart("How episodes ended", "share of rollouts", {"rollout/stop_*": ""}, zero=True),
        _chart("Held-out success by task type", "share of episodes", {"eval/success_rate/*": ""}),
        _chart(
            "Rollout success by task type",
            "share of the episodes in the files",
            {"episodes/success_rate/*": ""},
        ),
    ),
    "Stability": (
        _chart(
            "Stage", "0 healthy, 1 warning, 2 collapsing, 3 collapsed", {"collapse/stage": "stage"}
        ),
        _chart("KL to the reference", "k3 per token: how far the run went", {"train/ref_kl": "KL"}),
        _chart(
            "KL of an update",
            "old minus new log-probability per token",
            {"train/approx_kl": "all tokens", "train/approx_kl_kept": "kept by the mask"},
        ),
        _chart("Entropy", "nats per token", {"train/entropy": "entropy"}),
        _chart(
            "Gradient norm",
            "before clipping",
            {"train/grad_norm": "mean", "train/grad_norm_max": "largest"},
        ),
        _chart(
            "Importance ratio",
            "as the surrogate used it",
            {"train/ratio_mean": "mean", "train/ratio_max": "largest"},
        ),
        _chart(
            "Effective sample size",
            "share of the tokens",
            {
                "train/effective_sample_size": "new against old",
                "train/sampling_effective_sample_size": "trainer against engine",
            },
        ),
        _chart(
            "Engine against trainer",
            "KL between their log-probabilities; near zero",
            {"train/sampling_kl": "k3", "train/sampling_kl_k1": "k1"},
        ),
        _chart(
            "Skipped steps",
            "optimiser steps that were not finite",
            {"train/skipped_steps": "steps"},
        ),
        _chart("Learning rate", "of the last step of an update", {"train/learning_rate": "rate"}),
    ),
    "Clipping": (
        _chart(
            "Clipped tokens",
            "share of action tokens",
            {"train/clip_fraction": "main bound", "train/clip_fraction_lower": "dual clip"},
        ),
        _chart(
            "Out of range",
            "share of action tokens",
            {
                "train/out_of_range_lower": "A < 0, below",
                "train/out_of_range_upper": "A > 0, above",
            },
        ),
        _chart(
            "Masked turns", "rejected by the sequence mask", {"train/masked_turn_fraction": "share"}
        ),
    ),
    "Cells": _cells("cells", "Cells"),
    "Cells by entropy": (
        *_cells("cells_high_entropy", "Above the median"),
        *_cells("cells_low_entropy", "Below"),
    ),
    "Filtering": (
        _chart(
            "Informative groups",
            "share of the rolled-out ones",
            {"rollout/kept_group_fraction": "kept", "rollout/zero_spread_groups": "all alike"},
        ),
        _chart("Dropped groups", "number by reason", {"rollout/dropped_*": ""}, zero=True),
        _chart("Rejected episodes", "number by reason", {"rollout/rejected_*": ""}, zero=True),
        _chart(
            "Refilling",
            "rounds of rolling out; groups trained on although dropped",
            {"rollout/rounds": "rounds", "rollout/filled_groups": "filled groups"},
        ),
        _chart(
            "Broken environments",
            "episodes that failed twice, or were played again",
            {"rollout/failed_episodes": "failed", "rollout/retried_episodes": "retried"},
        ),
    ),
    "Time": (
        _chart(
            "Seconds per update",
            "by phase",
            {"time/rollout_s": "rollout", "time/update_s": "update", "time/*_s": ""},
        ),
        _chart(
            "Tokens per second",
            "sampled in rollouts, trained on in updates",
            {"time/sampled_tokens_per_s": "sampled", "time/trained_tokens_per_s": "trained"},
        ),
        _chart("Episodes per second", "of rollout", {"time/episodes_per_s": "episodes"}),
    ),
}
REST = "Everything else"
FOLDED = ("Cells by entropy", REST)
"""Sections that are closed at first."""
_NAMED = {tag for charts in SECTIONS.values() for chart in charts for tag in chart.series}


def draw(curves: Mapping[str, Curve]) -> tuple[list[DrawnChart], dict[str, Curve]]:
    """Return the charts of what is there, and all curves, with zeros where absence means zero.

    A curve that no chart asks for gets one of its own, so that nothing that was logged is lost.
    """
    completed = dict(curves)
    charts: list[DrawnChart] = []
    for section, entries in SECTIONS.items():
        for chart in entries:
            series = dict(_present(chart.series, curves))
            if chart.absent_is_zero and "rollout/episodes" in curves:
                steps = curves["rollout/episodes"].steps
                completed |= {tag: _filled(curves[tag], steps) for tag in series}
            if series:
                charts.append(
                    DrawnChart(section=section, title=chart.title, note=chart.note, series=series)
                )
    drawn = {tag for chart in charts for tag in chart.series}
    charts += [
        DrawnChart(section=REST, title=tag, note="", series={tag: tag.rsplit("/", 1)[-1]})
        for tag in sorted(curves.keys() - drawn)
    ]
    return charts, completed


def _present(series: Mapping[str, str], curves: Mapping[str, Curve]) -> Iterator[tuple[str, str]]:
    """Yield (tag, label) of the curves that are there."""
    for pattern, label in series.items():
        start, star, end = pattern.partition("*")
        if not star:
            if pattern in curves:
                yield pattern, label
            continue
        for tag in sorted(curves):
            if tag.startswith(start) and tag.endswith(end) and tag not in _NAMED:
                yield tag, tag[len(start) : len(tag) - len(end)].replace("_", " ")


def _filled(curve: Curve, steps: tuple[int, ...]) -> Curve:
    """Return the curve over the given steps, 0 where it has none."""
    values = dict(zip(curve.steps, curve.values, strict=True))
    return Curve(steps=steps, values=tuple(values.get(step, 0.0) for step in steps))
