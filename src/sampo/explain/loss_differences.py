"""Paper against code on dials 1 and 2, on KL and on the update."""

from __future__ import annotations

from sampo.explain.difference import NOTHING, Difference, Point
from sampo.explain.formula import num
from sampo.explain.regularisers import regulariser_terms
from sampo.explain.run import Run
from sampo.losses import (
    Clip,
    DetachedClip,
    EntropyBalanced,
    GeometricMean,
    Reinforce,
    SoftGate,
)


def _aggregation(run: Run) -> Difference | None:
    if run.loss.ratio.level == "token":
        return None
    kind = run.loss.aggregation.kind
    sides = {"token_mean": "the paper's", "sequence_mean_token_mean": "the code's"}
    return Difference(
        point="aggregation",
        paper="mean over tokens (Eq. 8)",
        code="mean over sequences of the token mean",
        here=sides.get(kind, f"neither: {kind}"),
    )


def _micro_batches(run: Run) -> Difference:
    return Difference(
        point="aggregation: micro-batches",
        paper=NOTHING,
        code="each apart, then averaged",
        here="as one mini-batch",
    )


def _other_terms(run: Run) -> Difference | None:
    if run.loss.ratio.level == "token" or not regulariser_terms(run):
        return None
    rule = run.loss.regulariser_aggregation
    return Difference(
        point="aggregation: KL, entropy",
        paper=NOTHING,
        code="the config's, not the surrogate's",
        here="as the surrogate" if rule is None else rule.kind,
    )


def _turn_clip(run: Run) -> Difference | None:
    part = run.loss.surrogate
    if not isinstance(part, Clip) or run.loss.ratio.level == "token":
        return None
    return Difference(
        point="clip of a turn's ratio",
        paper="0.003 and 0.004; WebShop 0.03 and 0.04",
        code="the same, or a tenth, by release; Sokoban 0.2",
        here=f"{num(part.clip_low)} and {num(part.clip_high)}",
    )


def _dual_clip(run: Run) -> Difference | None:
    part = run.loss.surrogate
    if not isinstance(part, Clip | EntropyBalanced):
        return None
    if run.loss.ratio.level != "token" and part.dual_clip is None:
        return None
    return Difference(
        point="dual clip",
        paper="none",
        code="3 for token ratios, none for SAMPO and GSPO",
        here="none" if part.dual_clip is None else num(part.dual_clip),
    )


def _log_bounds(run: Run) -> Difference | None:
    if isinstance(run.loss.surrogate, Reinforce):
        return None
    low, high = run.loss.ratio.bounds
    unbounded = isinstance(run.loss.surrogate, EntropyBalanced | GeometricMean)
    return Difference(
        point="bounds of log-ratio",
        paper="none",
        code="none in AEPO and GMPO" if unbounded else "token ±20, sequence ≤ 10",
        here=f"≤ {num(high)}" if low == -float("inf") else f"{num(low)} to {num(high)}",
    )


def _detached(run: Run) -> Difference | None:
    part = run.loss.surrogate
    if not isinstance(part, DetachedClip):
        return None
    low = "no lower bound" if part.clip_low == 1.0 else f"bounded below at {num(1 - part.clip_low)}"
    return Difference(
        point="CISPO's lower bound",
        paper="none (Eq. S8)",
        code="none in the scripts, 0.8 by default",
        here=low,
    )


def _gate(run: Run) -> Difference | None:
    part = run.loss.surrogate
    if not isinstance(part, SoftGate):
        return None
    return Difference(
        point="SAPO's temperatures",
        paper="1 and 1.05",
        code="1 and 1.05, or 2 and 2.1, by release",
        here=f"{num(part.tau_positive)} and {num(part.tau_negative)}",
    )


def _entropy_clip(run: Run) -> Difference | None:
    part = run.loss.surrogate
    if not isinstance(part, EntropyBalanced):
        return None
    return Difference(
        point="AEPO: who keeps a gradient above the clip",
        paper=NOTHING,
        code="low-entropy tokens, against AEPO's aim; entropies compared per micro-batch",
        here=f"{part.gradient_above.replace('_', '-')} tokens; compared per mini-batch",
    )


def _mask_threshold(run: Run) -> Difference | None:
    mask = run.loss.masking
    if mask is None:
        return None
    return Difference(
        point="sequence mask: threshold",
        paper="not given",
        code="0.223 by default, 0.003 in the scripts",
        here=num(mask.threshold),
    )


def _mask_counts(run: Run) -> Difference | None:
    mask = run.loss.masking
    if mask is None:
        return None
    return Difference(
        point="sequence mask: rejected tokens",
        paper="stay in the denominator",
        code="leave it",
        here="leave it" if mask.denominator == "surviving" else "stay",
    )


def _kl(run: Run) -> Difference:
    kind = run.loss.kl.kind
    if run.loss.kl_coef:
        here = f"{kind}, {num(run.loss.kl_coef)}, in the loss"
    elif run.kl_in_reward:
        here = f"k1, {num(run.kl_in_reward)}, in the reward"
    elif run.uses_kl:
        here = "in the reward"
    else:
        here = "only logged" if run.reference else "none"
    return Difference(
        point="KL to the reference",
        paper="k3, 0.01",
        code="k3, 0.01, in the loss; in Sokoban only logged",
        here=here,
    )


def _entropy_bonus(run: Run) -> Difference:
    return Difference(
        point="entropy bonus",
        paper="none",
        code="0.001 in ALFWorld and WebShop",
        here=num(run.loss.entropy_coef) if run.loss.entropy_coef else "none",
    )


def _mini_batches(run: Run) -> Difference | None:
    if run.one_step:
        return None
    plan = run.model.mini_batches
    size = f"{plan.rows} rows" if plan.rows is not None else f"{plan.number or 1} equal parts"
    order = "shuffled" if plan.shuffle else "in order"
    return Difference(
        point="mini-batches",
        paper="64 to 256 rows, by environment",
        code="the same, in order; a smaller last one counts less",
        here=f"{size}, {order}",
    )


LOSS_POINTS: tuple[Point, ...] = (
    _aggregation,
    _micro_batches,
    _other_terms,
    _turn_clip,
    _dual_clip,
    _log_bounds,
    _detached,
    _gate,
    _entropy_clip,
    _mask_threshold,
    _mask_counts,
    _kl,
    _entropy_bonus,
    _mini_batches,
)
