"""Cautions about samples of another distribution than the trainer's."""

from __future__ import annotations

from sampo.explain.cautions.caution import Caution, Rule
from sampo.explain.run import Run

_LONG = 50
"""Tokens over which a product of ratios leaves a factor of 2 with rounding differences alone."""


def product_too_long(run: Run) -> Caution | None:
    """Find a correction by the product of very many ratios."""
    correction = run.loss.correction
    if correction is None or correction.length_normalise or correction.level == "token":
        return None
    turns = run.max_turns if correction.level == "episode" else 1
    tokens = turns * run.max_new_tokens
    if tokens < _LONG:
        return None
    return Caution(
        says=f"loss.correction multiplies the ratios of up to {tokens:,} tokens.",
        why="Engine and trainer differ by a little at every token, so that the product of many "
        "leaves every bound: most samples would be cut or rejected.",
        fix="--model.loss.correction.length_normalise true, or --model.loss.correction.level "
        "token.",
    )


def engine_ratio_at_a_narrow_clip(run: Run) -> Caution | None:
    """Find a clip that is narrower than engine and trainer may differ."""
    clip = run.loss.surrogate.clip_range
    if not run.engines_logprobs or clip is None or 1.0 - clip[0] > 0.02:
        return None
    return Caution(
        says=f"old_logprobs engine puts the difference of engine and trainer into a ratio that is "
        f"clipped at {clip[0]:.4g} already.",
        why="In low precision the two differ by more than that, and tokens are clipped before the "
        "policy has moved.",
        fix="--model.old_logprobs recompute.",
    )


OFF_POLICY_RULES: tuple[Rule, ...] = (product_too_long, engine_ratio_at_a_narrow_clip)
