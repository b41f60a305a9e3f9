"""The terms beside the surrogate as text: KL, entropy bonus and value loss."""

from __future__ import annotations

from sampo.explain.formula import Definition, Formula, by_name, num
from sampo.explain.run import Run
from sampo.losses import KLPenalty, ValueLoss


def regulariser_terms(run: Run) -> list[Formula]:
    """Return the terms beside the surrogate, each with its sign."""
    loss = run.loss
    parts: list[Formula] = []
    if loss.kl_coef > 0.0:
        parts.append(_kl(run))
    if loss.entropy_coef > 0.0:
        entropy = Definition(symbol="H_t", formula="entropy of π at token t", words="in nats")
        parts.append(Formula(term=f"− {num(loss.entropy_coef)} H_t", where=(entropy,)))
    if loss.value is not None:
        parts.append(_value(run))
    return parts


def _kl(run: Run) -> Formula:
    loss = run.loss
    coef, where = num(loss.kl_coef), list(_estimate(loss.kl).where)
    if run.model.adaptive_kl is not None:
        coef = "β"
        where.append(beta(run))
    weight = "r_t " if loss.kl.gradient == "importance_weighted" else ""
    return Formula(term=f"+ {coef} {weight}{_estimate(loss.kl).term}", where=tuple(where))


def _estimate(kl: KLPenalty) -> Formula:
    """Return the estimate of the KL of a token."""
    if type(kl) is not KLPenalty:
        return by_name(kl, "KL_t")
    symbol = "|d_t|" if kl.kind == "abs" else f"{kl.kind}_t"
    text = {
        "k1": "−d_t",
        "abs": "distance of the log-probabilities",
        "k2": "d_t² / 2",
        "k3": "min(exp(d_t) − d_t − 1, 10)",
    }[kl.kind]
    words = "KL to the frozen first policy"
    words += "; its gradient is that of d_t² / 2" if kl.gradient == "k2" else ""
    words += "; log r_t cut to [−20, 20] here" if kl.gradient == "importance_weighted" else ""
    cut = "in k3 cut to [−20, 20]" if kl.kind == "k3" else ""
    distance = Definition(symbol="d_t", formula="log π_ref(y_t) − log π(y_t)", words=cut)
    return Formula(
        term=symbol, where=(Definition(symbol=symbol, formula=text, words=words), distance)
    )


def beta(run: Run) -> Definition:
    """Return how the coefficient of the KL moves."""
    adaptive = run.model.adaptive_kl
    assert adaptive is not None
    target, horizon = num(adaptive.target), f"{adaptive.horizon:,}"
    start = num(run.loss.kl_coef or run.kl_in_reward)
    step = f"β (1 + clip(KL/{target} − 1, −0.2, 0.2) min(tokens/{horizon}, 1))"
    words = f"after each update, from {start} on; KL: k3 of that update"
    return Definition(symbol="β", formula=f"← {step}", words=words)


def _value(run: Run) -> Formula:
    value = run.loss.value
    assert value is not None
    term = f"+ {num(value.coef)} U_t"
    if type(value) is not ValueLoss:
        return Formula(term=term, where=by_name(value, "U_t").where)
    error = "(V_t − G_t)²"
    if value.clip is not None:
        near = f"(V°_t + clip(V_t − V°_t, {num(-value.clip)}, {num(value.clip)}) − G_t)²"
        error = f"max({error}, {near})"
    words = "V_t: the value head before token t, now; V°_t: at the rollout"
    line = Definition(symbol="U_t", formula=f"1/2 {error}", words=words)
    target = Definition(symbol="G_t", formula="A_t + V°_t", words="A_t before any whitening")
    return Formula(term=term, where=(line, target))
