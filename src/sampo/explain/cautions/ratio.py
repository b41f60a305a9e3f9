"""Cautions about dial 2: ratios and what bounds them."""

from __future__ import annotations

import math

from sampo.explain.cautions.caution import Caution, Rule
from sampo.explain.formula import num, one, plural
from sampo.explain.run import Run
from sampo.losses import (
    Clip,
    DetachedClip,
    EntropyBalanced,
    GeometricMean,
    Reinforce,
    SoftGate,
    Unclipped,
)

_WIDE = 0.1
"""A geometric mean over a reply moves by a tenth at most, as a rule: the paper clips at 0.004."""
_NARROW = 0.02
"""A token's ratio moves by more than this in one optimiser step, as a rule."""


def clip_never_acts(run: Run) -> Caution | None:
    """Find a bound on ratios that are all 1."""
    bounded = run.loss.surrogate.clip_range is not None or run.loss.masking is not None
    if not run.one_step or not bounded:
        return None
    return Caution(
        says="An update is one optimiser step, so every ratio is 1 and clip and mask never act.",
        why="Ratios move when a rollout is used for more than one step. As it is, the surrogate "
        "gives the plain policy gradient.",
        fix="--model.num_mini_batches 4 (the paper: 8 to 25 in ALFWorld), or keep it for on-policy "
        "training.",
    )


def fewer_steps_than_asked(run: Run) -> Caution | None:
    """Find more mini-batches than there is to be split."""
    plan = run.model.mini_batches
    if plan.number is None or run.steps.least == plan.number * plan.epochs:
        return None
    return Caution(
        says=f"num_mini_batches {plan.number} may be cut: an update has {run.episodes:,} episodes, "
        "of a row each at the least.",
        why="A mini-batch holds at least one row, or one episode where those stay together.",
        fix=f"--model.num_mini_batches {run.episodes} or fewer, or a larger "
        "--data.groups_per_update.",
    )


def no_lower_bound(run: Run) -> Caution | None:
    """Find a clip without its lower half."""
    part = run.loss.surrogate
    if not isinstance(part, Clip | EntropyBalanced) or part.clip_low != 1.0:
        return None
    return Caution(
        says="clip_low 1 puts the lower bound at ratio 0, which no ratio reaches.",
        why="Bad sequences that have become less likely are pushed on (A < 0 at a ratio below 1): "
        "what the paper finds at the start of collapse.",
        fix="--model.loss.surrogate.clip_low 0.2 for token ratios, 0.003 for turns.",
    )


def clip_too_wide(run: Run) -> Caution | None:
    """Find a clip range for token ratios around geometric means."""
    sizes = _clip_sizes(run)
    ratio = run.loss.ratio
    if not sizes or ratio.level == "token" or not ratio.length_normalise:
        return None
    if max(sizes) < _WIDE or run.one_step:
        return None
    return Caution(
        says=f"A clip of {_and(sizes)} around the geometric-mean ratio of {one(ratio.level)} "
        "hardly ever acts.",
        why="A mean over many tokens stays close to 1. The paper clips it at 0.003 and 0.004; "
        "0.01 in place of 0.001 cost it 3 points of success (Table 2).",
        fix="--model.loss.surrogate.clip_low 0.003 --model.loss.surrogate.clip_high 0.004, or "
        "--model.loss.ratio.level token.",
    )


def clip_too_narrow(run: Run) -> Caution | None:
    """Find a clip range for geometric means around token ratios."""
    sizes = _clip_sizes(run)
    if not sizes or run.loss.ratio.level != "token" or max(sizes) > _NARROW or run.one_step:
        return None
    return Caution(
        says=f"A clip of {_and(sizes)} around token ratios stops most tokens after one step.",
        why="Single tokens move by several percent per step; a range this narrow is meant for the "
        "geometric mean over a turn.",
        fix="--model.loss.ratio.level turn, or --model.loss.surrogate.clip_low 0.2 "
        "--model.loss.surrogate.clip_high 0.2.",
    )


def bounds_before_clip(run: Run) -> Caution | None:
    """Find a cut of the log-ratio that acts before the clip does."""
    part, (low, high) = run.loss.surrogate, run.loss.ratio.bounds
    if not isinstance(part, Clip | DetachedClip | EntropyBalanced):
        return None
    least, most = part.clip_range
    hidden = [f"log_max {num(high)}"] if high <= math.log(most) else []
    if least > 0.0 and low >= math.log(least):
        hidden.append(f"log_min {num(low)}")
    if not hidden:
        return None
    return Caution(
        says=f"ratio.{' and ratio.'.join(hidden)} cuts ratios before the clip "
        f"[{num(least)}, {num(most)}] is reached, which can never act there.",
        why="The cut takes away the gradient of good and bad sequences alike; the clip only takes "
        "away what would push further out.",
        fix="leave out model.loss.ratio.log_min and log_max: the defaults are the paper's.",
    )


def product_of_many(run: Run) -> Caution | None:
    """Find a product of ratios over a long segment."""
    ratio = run.loss.ratio
    limit = run.max_new_tokens * (run.max_turns if ratio.level == "episode" else 1)
    if ratio.level == "token" or ratio.length_normalise or limit < 4:
        return None
    return Caution(
        says=f"The ratio of {one(ratio.level)} is a product of up to {limit:,} token ratios.",
        why="A product over many tokens leaves every clip range at once.",
        fix="--model.loss.ratio.length_normalise true.",
    )


def gate_has_no_clip(run: Run) -> Caution | None:
    """Find clip values set on a surrogate that only reports them."""
    part = run.loss.surrogate
    if not isinstance(part, SoftGate):
        return None
    if (part.clip_low, part.clip_high) == (SoftGate().clip_low, SoftGate().clip_high):
        return None
    return Caution(
        says=f"SoftGate's clip of {num(part.clip_low)} and {num(part.clip_high)} changes only the "
        "metric clip_fraction.",
        why="SAPO bounds by a sigmoid, whose steepness is tau_positive and tau_negative.",
        fix="--model.loss.surrogate.tau_negative higher for a tighter gate, or surrogate Clip.",
    )


def off_policy_without_bound(run: Run) -> Caution | None:
    """Find a surrogate that is right on-policy only, or unbounded, with several steps."""
    part, steps = run.loss.surrogate, plural(run.steps.most, "optimiser step")
    if run.one_step or not isinstance(part, Reinforce | Unclipped):
        return None
    name = type(part).__name__
    if isinstance(part, Reinforce):
        why = "Without a ratio it is right only for the first step on a rollout; the others train "
        why += "on data of an older policy as if it were their own."
    else:
        why = "The variance of its ratios grows with every step and nothing bounds it."
    return Caution(
        says=f"{name} takes up to {steps} on one rollout.",
        why=why,
        fix="--model.num_mini_batches 1 --model.epochs 1, or --model.loss.surrogate Clip.",
    )


def tolerant_without_mask(run: Run) -> Caution | None:
    """Find the two surrogates that the paper sees collapse, without what cured them."""
    part = run.loss.surrogate
    tolerant = isinstance(part, DetachedClip | SoftGate)
    if run.one_step or not tolerant or run.loss.masking is not None:
        return None
    return Caution(
        says=f"{type(part).__name__} keeps a gradient on every token, however far the policy has "
        f"moved in up to {plural(run.steps.most, 'optimiser step')}.",
        why="The paper sees such clipping rise fast and collapse (ALFWorld: CISPO 54 %, SAPO 25 % "
        "success); sequence masking brought both to 77 % and more.",
        fix="--model.loss.masking.threshold 0.003.",
    )


def dual_clip_out_of_reach(run: Run) -> Caution | None:
    """Find a bound on ratios that a geometric mean does not reach."""
    part, level = run.loss.surrogate, run.loss.ratio.level
    if not isinstance(part, Clip | EntropyBalanced) or part.dual_clip is None:
        return None
    if level == "token" or not run.loss.ratio.length_normalise:
        return None
    return Caution(
        says=f"dual_clip {num(part.dual_clip)} bounds the geometric-mean ratio of {one(level)}.",
        why=f"It would take tokens that are {num(part.dual_clip)} times likelier on average. The "
        "paper's code has the dual clip for token ratios and none for SAMPO and GSPO.",
        fix="--model.loss.surrogate.dual_clip null.",
    )


def entropies_cost_a_pass(run: Run) -> Caution | None:
    """Find the surrogate that scores every mini-batch twice."""
    if not run.loss.needs_entropy_zscores or run.loss.needs_log_ratio:
        return None
    return Caution(
        says=f"{type(run.loss.surrogate).__name__} scores every mini-batch once more.",
        why="It compares entropies over the whole mini-batch, so they are needed before its first "
        "micro-batch: one more forward pass per token and epoch.",
        fix="nothing, if it is worth that; the paper has no results with it.",
    )


def _clip_sizes(run: Run) -> list[float]:
    """Return the two sides of a clip on ratios, one that is off left out."""
    part = run.loss.surrogate
    if isinstance(part, GeometricMean) or not isinstance(
        part, Clip | DetachedClip | EntropyBalanced
    ):
        return []
    return [size for size in (part.clip_low, part.clip_high) if size != 1.0]


def _and(sizes: list[float]) -> str:
    return " and ".join(num(size) for size in sizes)


RATIO_RULES: tuple[Rule, ...] = (
    clip_never_acts,
    fewer_steps_than_asked,
    no_lower_bound,
    clip_too_wide,
    clip_too_narrow,
    bounds_before_clip,
    product_of_many,
    gate_has_no_clip,
    off_policy_without_bound,
    tolerant_without_mask,
    dual_clip_out_of_reach,
    entropies_cost_a_pass,
)
