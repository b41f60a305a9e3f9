"""Cautions about the sequence mask."""

from __future__ import annotations

import math

from sampo.explain.cautions.caution import Caution, Rule
from sampo.explain.formula import num
from sampo.explain.run import Run
from sampo.losses import Clip

_SAME = 1.001
"""Two bounds this near are one: exp(-0.003) is hardly more than 1 - 0.003."""
_LOOSE = 0.1
"""A mean log-ratio over a reply stays below this, as a rule."""


def clip_was_there_first(run: Run) -> Caution | None:
    """Find a mask whose sequences have lost their gradient to the clip already."""
    mask, part, ratio = run.loss.masking, run.loss.surrogate, run.loss.ratio
    if mask is None or not isinstance(part, Clip) or mask.level != ratio.level:
        return None
    kept = math.exp(-mask.threshold)
    stopped = (1 - part.clip_low) * _SAME
    if not ratio.length_normalise or not run.advantage_per_turn or kept > stopped:
        return None
    shrinks = mask.denominator == "surviving"
    rest = "The mask only shrinks the denominators." if shrinks else "The mask does nothing."
    return Caution(
        says=f"masking.threshold {num(mask.threshold)} rejects bad {mask.level}s below ratio "
        f"{kept:.3g}, which the clip at {num(1 - part.clip_low)} has stopped already.",
        why=f"For a negative advantage both look at the same geometric-mean ratio. {rest}",
        fix="--model.loss.masking null, or a threshold below "
        f"{-math.log(1 - part.clip_low):.3g}, or token ratios."
        if part.clip_low < 1
        else "--model.loss.masking null.",
    )


def mask_too_loose(run: Run) -> Caution | None:
    """Find a threshold that hardly any sequence passes."""
    mask = run.loss.masking
    if mask is None or run.one_step or mask.threshold < _LOOSE:
        return None
    if clip_was_there_first(run) is not None:
        return None
    return Caution(
        says=f"masking.threshold {num(mask.threshold)} rejects only bad {mask.level}s whose "
        f"geometric-mean ratio is below {math.exp(-mask.threshold):.2g}.",
        why="Such a mean stays close to 1, so the mask hardly ever acts. The paper's scripts use "
        "0.003; 0.223 is the default of its code.",
        fix="--model.loss.masking.threshold 0.003.",
    )


MASKING_RULES: tuple[Rule, ...] = (clip_was_there_first, mask_too_loose)
