"""The four dials as a table: where each is set, and to what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sampo.explain.formula import describe, num, plain
from sampo.explain.run import Run
from sampo.losses import Aggregation, Ratio


@dataclass(frozen=True, kw_only=True)
class DialRow:
    """One line of the table."""

    dial: str
    """Empty: the dial of the line above."""
    setting: str
    """Key in the config."""
    value: str


def dial_rows(run: Run) -> list[DialRow]:
    """Return the settings of the four dials, those left out that are switched off."""
    return [
        *_rows("aggregation", _aggregation(run)),
        *_rows("ratio, clip", _ratio(run)),
        *_rows("advantage", _advantage(run)),
        *_rows("filter", _filtering(run)),
    ]


def _rows(dial: str, settings: list[tuple[str, str]]) -> list[DialRow]:
    return [
        DialRow(dial="" if number else dial, setting=setting, value=value)
        for number, (setting, value) in enumerate(settings)
    ]


def _aggregation(run: Run) -> list[tuple[str, str]]:
    rules: list[tuple[str, Aggregation | None]] = [
        ("model.loss.aggregation", run.loss.aggregation),
        ("model.loss.regulariser_aggregation", run.loss.regulariser_aggregation),
    ]
    return [
        (setting, "token_mean" if rule.kind == "token_mean" else _bare(rule))
        for setting, rule in rules
        if rule is not None
    ]


def _ratio(run: Run) -> list[tuple[str, str]]:
    loss = run.loss
    rows = [
        ("model.loss.ratio", _level(loss.ratio)),
        ("model.loss.surrogate", describe(loss.surrogate)),
    ]
    if loss.masking is not None:
        rows.append(("model.loss.masking", _bare(loss.masking)))
    if loss.correction is not None:
        rows.append(("model.loss.correction", describe(loss.correction)))
    if run.engines_logprobs:
        rows.append(("model.old_logprobs", "engine"))
    kl = f"{_bare(loss.kl)}, kl_coef {num(loss.kl_coef)}" if loss.kl_coef else "none in the loss"
    rows.append(("model.loss.kl", kl))
    if run.model.adaptive_kl is not None:
        rows.append(("model.adaptive_kl", _bare(run.model.adaptive_kl)))
    if loss.entropy_coef:
        rows.append(("model.loss.entropy_coef", num(loss.entropy_coef)))
    if loss.value is not None:
        rows.append(("model.loss.value", _bare(loss.value)))
    return rows


def _level(ratio: Ratio) -> str:
    """Return the level of a ratio and what a segment's ratio is; bounds only where they are set."""
    bounds = {"log_min": ratio.log_min, "log_max": ratio.log_max}
    kind = "geometric mean" if ratio.length_normalise else "product"
    words = ["level token" if ratio.level == "token" else f"level {ratio.level}, {kind}"]
    words += [f"{name} {plain(bound)}" for name, bound in bounds.items() if bound is not None]
    return ", ".join(words)


def _advantage(run: Run) -> list[tuple[str, str]]:
    data = run.data
    rows = [("data.advantage", describe(data.advantage))]
    if run.stage is not None:
        rows.append(("model.batch_advantage", describe(run.stage)))
    if data.shaping is not None:
        rows.append(("data.shaping", describe(data.shaping)))
    rows.append(("data.invalid_action_penalty", num(data.player.invalid_action_penalty)))
    return rows


def _filtering(run: Run) -> list[tuple[str, str]]:
    data = run.data
    rows = [("data.group_filter", describe(data.judges.group_filter))]
    if run.filters:
        rows.append(("data.max_filter_rounds", num(data.plan.max_rounds)))
        if data.plan.cold_start:
            rows.append(("data.filter_cold_start", f"{data.plan.cold_start} updates"))
    if data.judges.episode_filters:
        rows.append(("data.episode_filters", plain(data.judges.episode_filters)))
    if data.judges.group_selector is not None:
        rows.append(("data.group_selector", describe(data.judges.group_selector)))
    return rows


def _bare(part: Any) -> str:
    """Return the fields of a part whose class is clear from its key."""
    return describe(part).partition(": ")[2].removeprefix("kind ") or describe(part)
