"""Dial 2 as text: importance ratios and what is done with those far from one."""

from __future__ import annotations

from sampo.explain.formula import Definition, Formula, formula, num
from sampo.explain.run import Run
from sampo.losses import (
    Clip,
    DetachedClip,
    EntropyBalanced,
    GeometricMean,
    Ratio,
    Reinforce,
    SoftGate,
    Unclipped,
)

_SEGMENTS = {"turn": ("i", "turn i"), "episode": ("e", "episode e")}


@formula.register(Ratio)
def ratio(part: Ratio, run: Run) -> Formula:
    """Return the ratio of a token, or the mean or product over a segment."""
    symbol, cut = run.ratio_symbol, _cut(part, run)
    if part.level == "token":
        words = f"one ratio per token; {cut}"
        return _ratio(symbol, "π(y_t) / π_old(y_t)", words)
    index, segment = _SEGMENTS[part.level]
    tokens = f"over the T_{index} tokens of {segment}; {cut}"
    if part.length_normalise:
        mean = f"exp( 1/T_{index} Σ_t log π(y_t)/π_old(y_t) )"
        return _ratio(symbol, mean, f"the geometric mean {tokens}")
    return _ratio(symbol, "Π_t π(y_t)/π_old(y_t)", f"the product {tokens}")


@formula.register(Clip)
def clip(part: Clip, run: Run) -> Formula:
    """Return PPO's larger of two, and the dual clip as a bound on it."""
    bounded = _bounded(run.ratio_symbol, part.clip_low, part.clip_high)
    return _pessimistic(run.advantage_symbol, run.ratio_symbol, bounded, part.dual_clip)


@formula.register(SoftGate)
def soft_gate(part: SoftGate, run: Run) -> Formula:
    """Return SAPO's gate."""
    r, a = run.ratio_symbol, run.advantage_symbol
    good, bad = num(part.tau_positive), num(part.tau_negative)
    tau = good if good == bad else f"{good} where the mean A of the {part.sequence} is > 0"
    return Formula(
        term=f"−{a} f({r})",
        where=(
            Definition(
                symbol=f"f({r})",
                formula=f"(4/τ) σ(τ ({r} − 1))",
                words="σ: the logistic function; nothing is ever cut off",
            ),
            Definition(symbol="τ", formula=tau if good == bad else f"{tau}, else {bad}"),
        ),
    )


@formula.register(DetachedClip)
def detached_clip(part: DetachedClip, run: Run) -> Formula:
    """Return CISPO's weight."""
    bounded = _bounded(run.ratio_symbol, part.clip_low, part.clip_high)
    words = "a number: no gradient flows through it"
    return Formula(
        term=f"−w_t {run.advantage_symbol} log π(y_t)",
        where=(Definition(symbol="w_t", formula=bounded, words=words),),
    )


@formula.register(GeometricMean)
def geometric_mean(part: GeometricMean, run: Run) -> Formula:
    """Return GMPO's mean of clipped log-ratios."""
    index, segment = _SEGMENTS[run.loss.ratio.level]
    symbol = run.ratio_symbol
    inner = "Σ_t l_t" if not run.loss.ratio.length_normalise else f"1/T_{index} Σ_t l_t"
    same = run.advantage_per_turn and index == "i"
    advantage = "A_i" if same else f"Ā_{index}"
    where = (
        Definition(
            symbol=symbol,
            formula=f"exp( {inner} )",
            words=f"over the tokens of {segment}; {_cut(run.loss.ratio, run)}",
        ),
        Definition(
            symbol="l_t",
            formula="log π(y_t)/π_old(y_t)",
            words=f"where {run.advantage_symbol} > 0 at most {num(part.clip_high)}, "
            f"where < 0 at least {num(-part.clip_low)}",
        ),
    )
    mean = Definition(symbol=advantage, formula=f"mean of {run.advantage_symbol} over {segment}")
    return Formula(term=f"−{advantage} {symbol}", where=where if same else (*where, mean))


@formula.register(EntropyBalanced)
def entropy_balanced(part: EntropyBalanced, run: Run) -> Formula:
    """Return AEPO's clip on advantages that depend on the entropy."""
    r, a, high = run.ratio_symbol, run.advantage_symbol, num(1 + part.clip_high)
    bounded = _bounded(r, part.clip_low, part.clip_high)
    inner = _pessimistic("B_t", r, bounded, part.dual_clip)
    keeps = "z_t ≤ 0" if part.gradient_above == "low_entropy" else "z_t > 0"
    return Formula(
        term=inner.term,
        where=(
            *inner.where,
            Definition(
                symbol="B_t",
                formula=f"{a} (1 + {num(part.advantage_weight)} z_t)",
                words=f"where B_t > 0, {r} > {high} and {keeps} the gradient is "
                f"−{high} B_t ∇log π(y_t)",
            ),
            Definition(
                symbol="z_t",
                formula="(H_t − mean H) / (std H + 1e-8)",
                words="entropy at token t, over the tokens of the mini-batch; no gradient",
            ),
        ),
    )


@formula.register(Reinforce)
def reinforce(part: Reinforce, run: Run) -> Formula:
    """Return the plain policy gradient."""
    return Formula(term=f"−{run.advantage_symbol} log π(y_t)")


@formula.register(Unclipped)
def unclipped(part: Unclipped, run: Run) -> Formula:
    """Return the importance-weighted policy gradient."""
    return Formula(term=f"−{run.advantage_symbol} {run.ratio_symbol}")


def _cut(part: Ratio, run: Run) -> str:
    """Return where the log of a ratio is cut, in words."""
    low, high = part.bounds
    if low == -float("inf"):
        return f"log {run.ratio_symbol} cut above {num(high)}"
    return f"log {run.ratio_symbol} cut to [{num(low)}, {num(high)}]"


def _ratio(symbol: str, text: str, words: str) -> Formula:
    return Formula(term=symbol, where=(Definition(symbol=symbol, formula=text, words=words),))


def _bounded(ratio: str, clip_low: float, clip_high: float) -> str:
    """Return the clipped ratio; a lower bound of 0 is none, as ratios are positive."""
    low, high = num(1 - clip_low), num(1 + clip_high)
    return f"min({ratio}, {high})" if clip_low == 1.0 else f"clip({ratio}, {low}, {high})"


def _pessimistic(advantage: str, ratio: str, bounded: str, dual_clip: float | None) -> Formula:
    larger = f"max(−{advantage} {ratio}, −{advantage} {bounded})"
    if dual_clip is None:
        return Formula(term=larger)
    words = f"and where {advantage} < 0 at most −{num(dual_clip)} {advantage}"
    return Formula(term="C_t", where=(Definition(symbol="C_t", formula=larger, words=words),))
