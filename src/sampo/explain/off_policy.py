"""What the old policy is, and how the engine's samples are corrected, as text."""

from __future__ import annotations

from sampo.explain.formula import Definition, by_name, num
from sampo.explain.run import Run
from sampo.losses import OffPolicyCorrection

_INDEX = {"token": "t", "turn": "i", "episode": "e"}


def correction_symbol(correction: OffPolicyCorrection) -> str:
    """Return the weight that stands before the surrogate."""
    return f"w_{_INDEX[correction.level]}"


def old_policy(run: Run) -> list[Definition]:
    """Return the lines about the weight, and about whose probabilities the ratio starts from."""
    lines: list[Definition] = []
    correction = run.loss.correction
    if correction is not None:
        lines += _correction(correction)
    if run.engines_logprobs:
        words = "recorded when sampled; one forward pass less, and every difference between engine "
        words += "and trainer is part of the ratio and of its clip"
        lines.append(Definition(symbol="π_old", formula="the engine's probability", words=words))
    return lines


def _correction(correction: OffPolicyCorrection) -> list[Definition]:
    symbol, i = correction_symbol(correction), _INDEX[correction.level]
    if type(correction) is not OffPolicyCorrection:
        return list(by_name(correction, symbol).where)
    count = f"1/T_{i} " if correction.length_normalise and i != "t" else ""
    over = "" if i == "t" else "Σ_t "
    ratio = f"exp( {count}{over}log π_old(y_t)/π_engine(y_t) )"
    low, high = num(correction.lower), num(correction.upper)
    formula, words = {
        "truncate": (f"min({ratio}, {high})", ""),
        "mask": (ratio, f"0 outside {low} to {high}"),
        "reject": (f"1 where {low} ≤ {ratio} ≤ {high}", "else 0"),
    }[correction.kind]
    if correction.rejects_episodes:
        words += "; an episode at 0 leaves its group before the advantages are computed again"
    words = f"{words}; " if words else ""
    words += "π_old: recomputed by the trainer; π_engine: as sampled"
    return [Definition(symbol=symbol, formula=formula, words=words)]
