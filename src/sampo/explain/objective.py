"""The objective as one formula with its numbers, composed from the parts of `PolicyLoss`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sampo.explain.formula import Definition, Formula, by_name, formula_of, is_known, num, summary
from sampo.explain.off_policy import correction_symbol, old_policy
from sampo.explain.regularisers import beta, regulariser_terms
from sampo.explain.run import Run
from sampo.losses import Aggregation, PolicyLoss, SequenceMask


@dataclass(frozen=True, kw_only=True)
class Sum:
    """A weighted sum over tokens, e.g. `1/N Σ_i 1/T_i Σ_t [ -A_i s_i + 0.01 k3_t ]`."""

    weights: str
    terms: tuple[str, ...]
    """Each with its sign, save the first."""


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What is minimised over a mini-batch."""

    sums: tuple[Sum, ...]
    where: tuple[Definition, ...]

    def lines(self, width: int) -> list[str]:
        """Return the formula in lines of at most `width` characters where terms allow it."""
        lines = ["L = "]
        for number, part in enumerate(self.sums):
            if number:
                lines.append("  + ")
            lines[-1] += f"{part.weights} "
            first, *rest = part.terms
            if not rest:
                lines[-1] += first
                continue
            lines[-1] += "[ "
            indent = " " * len(lines[-1])
            lines[-1] += first
            for term in rest:
                if len(f"{lines[-1]} {term} ]") <= width:
                    lines[-1] += f" {term}"
                else:
                    lines.append(indent + term)
            lines[-1] += " ]"
        return lines


def objective(run: Run) -> Objective:
    """Return the objective of a run; never fails on classes it does not know."""
    loss = run.loss
    surrogate = formula_of(loss.surrogate, run)
    weights = _weights(loss.aggregation, survivors=_survivors_only(loss))
    other_rule = loss.regulariser_aggregation or loss.aggregation
    other = _weights(other_rule, survivors=False)
    term = surrogate.term
    if loss.masking is not None:
        sign, rest = ("−", term[1:]) if term.startswith("−") else ("", term)
        term = f"{sign}M_{_index(loss.masking.level)} {rest}"
    if loss.correction is not None:
        sign, rest = ("−", term[1:]) if term.startswith("−") else ("", term)
        term = f"{sign}{correction_symbol(loss.correction)} {rest}"
    regularisers = regulariser_terms(run)
    others = tuple(part.term for part in regularisers)
    if not others or other.term == weights.term:
        sums = (Sum(weights=weights.term, terms=(term, *others)),)
        rules = [weights]
    else:
        apart = Sum(weights=other.term, terms=_leading(others))
        sums = (Sum(weights=weights.term, terms=(term,)), apart)
        # What i, t and T_i are has been said, unless the two sum over different things.
        said = other_rule.level == loss.aggregation.level
        rules = [weights, _unspoken(other) if said else other]
    where = [*surrogate.where, *_mask(run), *old_policy(run), *_ratios(run, surrogate, others)]
    where += [line for part in regularisers for line in part.where]
    where += _advantage(run)
    where += [line for rule in rules for line in rule.where]
    return Objective(sums=sums, where=_first_of_each(_own_class(loss) + where))


def _weights(rule: Aggregation, *, survivors: bool) -> Formula:
    """Return the sum over tokens with its weights, and what its counts count."""
    if type(rule) is not Aggregation:
        return Formula(term="Σ_t w_t", where=by_name(rule, "w_t").where)
    i, name = _index(rule.level), rule.level
    prime = "′" if survivors else ""
    what = " that the mask leaves in" if survivors else ""
    if rule.kind == "token_mean":
        counted, words = f"action tokens of the mini-batch{what}", "t: one of them; i: its turn"
        total = Definition(symbol=f"T{prime}", formula=counted, words=words)
        return Formula(term=f"1/T{prime} Σ_i Σ_t", where=(total,))
    inner = {
        "sequence_mean_token_mean": f"1/T_{i} Σ_t",
        "sequence_mean_token_sum": "Σ_t",
        "sum_over_max_length": f"1/{rule.max_length or 'max_length'} Σ_t",
    }[rule.kind]
    count = "E" if name == "episode" else "N"
    members = f"T_{i} of them" if "T_" in inner else ""
    tokens = f"t: an action token of {name} {i}{', ' + members if members else ''}"
    if name == "episode":
        tokens += "; i: its turn"
    counted = f"{name}s of the mini-batch{what}"
    total = Definition(symbol=f"{count}{prime}", formula=counted, words=tokens)
    return Formula(term=f"1/{count}{prime} Σ_{i} {inner}", where=(total,))


def _leading(terms: tuple[str, ...]) -> tuple[str, ...]:
    """Return the terms as they stand after the weights, the first without a sign that dangles."""
    first = terms[0].removeprefix("+ ").replace("− ", "−")
    alone = len(terms) == 1 and first.startswith("−")
    return (f"({first})" if alone else first, *terms[1:])


def _unspoken(weights: Formula) -> Formula:
    """Return the same without words."""
    return replace(weights, where=tuple(replace(line, words="") for line in weights.where))


def _survivors_only(loss: PolicyLoss) -> bool:
    return loss.masking is not None and loss.masking.denominator == "surviving"


def _mask(run: Run) -> tuple[Definition, ...]:
    mask = run.loss.masking
    if mask is None:
        return ()
    i = _index(mask.level)
    if type(mask) is not SequenceMask:
        return by_name(mask, f"M_{i}").where
    same = run.advantage_per_turn and mask.level == "turn"
    advantage = "A_i" if same else f"the mean A of the {mask.level}"
    text = f"0 where {advantage} < 0 and 1/T_{i} Σ_t log π_old(y_t)/π(y_t) > {num(mask.threshold)}"
    kept = f"{math.exp(-mask.threshold):.4g}"
    words = f"else 1: a bad {mask.level} is out once its geometric-mean ratio is below {kept}"
    return (Definition(symbol=f"M_{i}", formula=text, words=words),)


def _ratios(run: Run, surrogate: Formula, others: tuple[str, ...]) -> list[Definition]:
    """Return the ratio where the surrogate has one, and that of a token where the KL needs it."""
    text = surrogate.term + "".join(line.formula for line in surrogate.where)
    defined = {line.symbol for line in surrogate.where}
    symbol = run.ratio_symbol
    lines: list[Definition] = []
    if symbol not in defined and (symbol in text or not is_known(run.loss.surrogate)):
        lines += formula_of(run.loss.ratio, run, symbol).where
    if any("r_t" in term for term in others) and symbol != "r_t":
        lines.append(Definition(symbol="r_t", formula="π(y_t) / π_old(y_t)"))
    return lines


def _advantage(run: Run) -> list[Definition]:
    """Return the lines from the advantage down to the rewards."""
    lines: list[Definition] = []
    if run.stage is not None:
        lines += formula_of(run.stage, run, run.advantage_symbol).where
        if run.model.adaptive_kl is not None and not run.loss.kl_coef:
            lines.append(beta(run))
    lines += formula_of(run.data.advantage, run, run.first_stage_symbol).where
    if run.data.shaping is not None:
        lines += formula_of(run.data.shaping, run, "P_i").where
    return lines


def _own_class(loss: PolicyLoss) -> list[Definition]:
    """Return a line that says so where the whole loss is a class of the user's."""
    if type(loss) is PolicyLoss:
        return []
    words = summary(loss) or "a subclass of PolicyLoss"
    line = "composed as PolicyLoss would, which this class may change"
    return [Definition(symbol=type(loss).__name__, formula=line, words=words)]


def _first_of_each(lines: list[Definition]) -> tuple[Definition, ...]:
    first: dict[str, Definition] = {}
    for line in lines:
        first.setdefault(line.symbol, line)
    return tuple(first.values())


def _index(level: str) -> str:
    return "e" if level == "episode" else "i"
