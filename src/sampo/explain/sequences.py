"""What a sequence is in a run, and what the weights of its tokens are divided by."""

from __future__ import annotations

from sampo.explain.formula import describe, num, one, plural, summary
from sampo.explain.run import Run
from sampo.losses import Aggregation, SoftGate
from sampo.rollout.conversation import TranscriptContext, WindowContext

_COUNTED = {
    "token_mean": "the number of action tokens, so that every token counts the same",
    "sequence_mean_token_mean": "the number of {level}s, and in each by its own tokens, so that "
    "every {level} counts the same, whatever its length",
    "sequence_mean_token_sum": "the number of {level}s only, so that long {level}s count more",
    "sum_over_max_length": "the number of {level}s, and every token by {length}, whatever the "
    "{level}'s length",
}


def denominators(run: Run) -> list[str]:
    """Return what the loss is divided by, in sentences."""
    loss, batch = run.loss, run.model.hparams["micro_batch_tokens"]
    lines = [f"The weights are divided by {_counted(loss.aggregation)}."]
    if loss.regulariser_aggregation is not None and _others(run):
        counted = _counted(loss.regulariser_aggregation)
        lines.append(f"Those of {_others(run)} are divided by {counted}.")
    lines.append(
        "All counts are over the whole mini-batch (one optimiser step), taken before its first "
        f"micro-batch; micro-batches of {batch:,} tokens change memory, never the gradient."
    )
    mask = loss.masking
    if mask is not None:
        if mask.denominator == "surviving":
            stay = f"{mask.level}s that the mask rejects leave the surrogate's counts"
        else:
            stay = f"{mask.level}s that the mask rejects count 0 but stay in the counts"
        lines.append(f"{stay.capitalize()}.")
        if _others(run):
            lines.append(f"The mask does not touch {_others(run)}.")
    if loss.correction is not None:
        lines.append(
            f"{loss.correction.level.capitalize()}s that the correction weighs 0 stay in the "
            f"counts{', and it does not touch ' + _others(run) if _others(run) else ''}."
        )
    lines.append("Turns with advantage 0 add nothing to the surrogate but stay in the counts.")
    return lines


def _counted(rule: Aggregation) -> str:
    if type(rule) is not Aggregation:
        return f"what {type(rule).__name__} says"
    return _COUNTED[rule.kind].format(level=rule.level, length=rule.max_length)


def _others(run: Run) -> str:
    """Return the terms beside the surrogate, as words."""
    loss = run.loss
    names = [
        name
        for name, there in (
            ("the KL term", loss.kl_coef > 0.0),
            ("the entropy bonus", loss.entropy_coef > 0.0),
            ("the value loss", loss.value is not None),
        )
        if there
    ]
    return " and ".join(names)


def sequences(run: Run) -> list[str]:
    """Return what a row, a sequence and a ratio are, in sentences."""
    return [_row(run), _ratio(run), *_levels(run), *_together(run)]


def _row(run: Run) -> str:
    context = run.context
    if type(context) is WindowContext:
        shown = f"the last {plural(context.history, 'turn')}" if context.history else "no history"
        return (
            f"WindowContext: a row is one turn, a fresh prompt with {shown}. The paper's "
            '"sequence" is such a row, so it is a turn.'
        )
    if type(context) is TranscriptContext:
        return (
            "TranscriptContext: a row is one episode, its replies trained in one pass, and a turn "
            'is a segment of it. The paper\'s "sequence" is a turn here, too, not the row; where '
            "the chat template rewrites history, a new row starts."
        )
    about = summary(context)
    return f"{describe(context)}. {about}" if about else f"{describe(context)}."


def _ratio(run: Run) -> str:
    level = run.loss.ratio.level
    if level == "token":
        return "Ratio per token: each token is bounded by itself, whatever its neighbours do."
    kind = "mean" if run.loss.ratio.length_normalise else "product"
    across = ""
    if level == "episode" and not run.rows_are_episodes:
        across = " over all its rows"
    return (
        f"Ratio per {level}: one {kind}{across} for all its tokens, so that {one(level)} is "
        "bounded whole or not at all. Each token's gradient is that one ratio times ∇log π(y_t)."
    )


def _levels(run: Run) -> list[str]:
    """Return the other places at which the config says what a sequence is."""
    loss = run.loss
    levels: list[tuple[str, str]] = []
    if loss.aggregation.kind != "token_mean":
        levels.append(("the aggregation", loss.aggregation.level))
    if loss.masking is not None:
        levels.append(("the sequence mask", loss.masking.level))
    if isinstance(loss.surrogate, SoftGate):
        levels.append(("SoftGate", loss.surrogate.sequence))
    if not levels:
        return []
    said = ", ".join(f"{level} for {where}" for where, level in levels)
    return [f"A sequence is: {said}."]


def _together(run: Run) -> list[str]:
    """Return what splitting must not tear apart."""
    wide = [
        name
        for name, level in (
            ("micro-batch", run.loss.keep_together),
            ("mini-batch", run.loss.keep_together_in_mini_batch),
        )
        if level == "episode"
    ]
    if not wide or run.rows_are_episodes:
        return []
    limit = num(run.max_turns)
    return [f"All rows of an episode, up to {limit}, lie in one {' and one '.join(wide)}."]
