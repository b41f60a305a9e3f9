"""Dial 3 as text: from rewards to the advantage of a turn or token."""

from __future__ import annotations

from sampo.advantages import (
    GAE,
    GRPO,
    RLOO,
    EntropyModulation,
    GiGPO,
    KLReward,
    OverlongPenalty,
    PassAtK,
    ReMax,
    TurnReward,
    TurnScore,
    Whiten,
)
from sampo.advantages.base import BaselineOver, Singleton
from sampo.explain.formula import Definition, Formula, formula, num, times
from sampo.explain.run import Run

_POOLS: dict[BaselineOver, str] = {
    "turns": "all turns of the group (long episodes weigh more)",
    "episodes": "the episodes of the group, each with its mean S",
    "first_turns": "the first turns of the group's episodes",
}


def penalty(run: Run) -> str:
    """Return what is taken off the score of a turn, with its sign; empty for nothing."""
    amount = run.data.player.invalid_action_penalty
    invalid = f" − {num(amount)} [turn i invalid]" if amount else ""
    return invalid + (" − P_i" if run.data.shaping is not None else "")


def _score(run: Run) -> Definition:
    words = "R: undiscounted return of the episode"
    return Definition(symbol="S_i", formula=f"R{penalty(run)}", words=words)


def _pool(over: BaselineOver, singleton: Singleton) -> str:
    alone = "0" if singleton == "zero" else "S_i"
    return f"over {_POOLS[over]}; alone: {alone}"


def _relative(symbol: str, run: Run, *, by_std: bool, words: str) -> tuple[Definition, Definition]:
    centred = "(S_i − mean S) / (std S + 1e-6)" if by_std else "S_i − mean S"
    return Definition(symbol=symbol, formula=centred, words=words), _score(run)


@formula.register(GRPO)
def grpo(part: GRPO, run: Run) -> Formula:
    """Return the score relative to its group."""
    symbol, words = run.first_stage_symbol, _pool(part.baseline_over, part.singleton)
    where = _relative(symbol, run, by_std=part.divide_by_std, words=words)
    return Formula(term=symbol, where=where)


@formula.register(GiGPO)
def gigpo(part: GiGPO, run: Run) -> Formula:
    """Return the episode part and the step part."""
    by_std = part.normalise == "mean_std"
    whole, score = _relative(
        "E_i", run, by_std=by_std, words=_pool(part.baseline_over, part.singleton)
    )
    same = "in the same state"
    if part.similarity is not None:
        same = f"in a state whose text is {num(part.similarity)} alike"
    step = Definition(
        symbol="D_i",
        formula="(Q_i − mean Q) / (std Q + 1e-6)" if by_std else "Q_i − mean Q",
        words=f"over the group's turns that started {same}; one alone: 0",
    )
    discount = "" if part.gamma == 1.0 else f"{num(part.gamma)}^(j−i) "
    to_go = Definition(
        symbol="Q_i",
        formula=f"Σ_(j≥i) {discount}reward_j{penalty(run)}",
        words="over the turns j from i to the end of the episode",
    )
    total = Definition(
        symbol=run.first_stage_symbol,
        formula=f"E_i + {num(part.step_weight)} · D_i",
        words="whole episode + single step",
    )
    return Formula(term=total.symbol, where=(total, whole, step, score, to_go))


@formula.register(RLOO)
def rloo(part: RLOO, run: Run) -> Formula:
    """Return the score relative to the others."""
    words = f"n of them: {_pool(part.baseline_over, part.singleton)}"
    first = Definition(symbol=run.first_stage_symbol, formula="n/(n−1) (S_i − mean S)", words=words)
    return Formula(term=first.symbol, where=(first, _score(run)))


@formula.register(PassAtK)
def pass_at_k(part: PassAtK, run: Run) -> Formula:
    """Return the lead of the best episode."""
    lead = "(S₁ − S₂) / (std + 1e-6)" if part.divide_by_std else "S₁ − S₂"
    words = "on the best episode of the group, S₂ being the second best; all others 0"
    first = Definition(symbol=run.first_stage_symbol, formula=lead, words=words)
    mean = Definition(symbol="S₁, S₂", formula="mean of S_i over the episode's turns")
    return Formula(term=first.symbol, where=(first, mean, _score(run)))


@formula.register(ReMax)
def remax(part: ReMax, run: Run) -> Formula:
    """Return the score relative to a greedy episode."""
    words = "R_greedy: return of one more episode of the task, played at temperature 0"
    first = Definition(symbol=run.first_stage_symbol, formula="S_i − R_greedy", words=words)
    return Formula(term=first.symbol, where=(first, _score(run)))


@formula.register(TurnScore)
def turn_score(part: TurnScore, run: Run) -> Formula:
    """Return the bare score."""
    first = Definition(symbol=run.first_stage_symbol, formula="S_i", words="no baseline")
    return Formula(term=first.symbol, where=(first, _score(run)))


@formula.register(TurnReward)
def turn_reward(part: TurnReward, run: Run) -> Formula:
    """Return the bare reward."""
    own = f"reward_i{penalty(run)}"
    first = Definition(symbol=run.first_stage_symbol, formula=own, words="of the turn alone")
    return Formula(term=first.symbol, where=(first,))


@formula.register(OverlongPenalty)
def overlong(part: OverlongPenalty, run: Run) -> Formula:
    """Return the price of a long reply."""
    buffer = part.buffer_share * run.max_new_tokens
    free = num(run.max_new_tokens - buffer)
    text = f"{num(part.factor)} clip((T_i − {free}) / {num(buffer)}, 0, 1)"
    line = Definition(symbol="P_i", formula=text, words="T_i: tokens of the reply")
    return Formula(term="P_i", where=(line,))


@formula.register(EntropyModulation)
def entropy_modulation(part: EntropyModulation, run: Run) -> Formula:
    """Return EMPG's gain and bonus."""
    bonus = f" + {num(part.zeta)} f_next" if part.zeta else ""
    where = [
        Definition(
            symbol="A_i",
            formula=f"g_i A⁰_i{bonus}, minus its mean over all turns",
            words="next: the turn after i; none after an episode's last" if bonus else "",
        ),
        Definition(
            symbol="g_i",
            formula=f"exp(−{times(part.k)}h_i) / mean of it",
            words="confident turns learn more",
        ),
        Definition(symbol="f_i", formula=f"exp(−{times(part.k_future)}h_i)"),
        Definition(
            symbol="h_i",
            formula="(H_i − min H) / (max H − min H + 1e-8)",
            words="H_i: mean token entropy of turn i at the rollout; over the whole rollout",
        ),
    ]
    kept = tuple(line for line in where if bonus or line.symbol != "f_i")
    return Formula(term="A_i", where=kept)


@formula.register(KLReward)
def kl_reward(part: KLReward, run: Run) -> Formula:
    """Return the advantage minus the KL of its turn."""
    coef = "β" if run.model.adaptive_kl is not None and not run.loss.kl_coef else num(part.kl_coef)
    return Formula(
        term="A_i",
        where=(
            Definition(symbol="A_i", formula=f"A⁰_i − {coef} (K_i − mean K)"),
            Definition(
                symbol="K_i",
                formula="Σ_t log π_old(y_t)/π_ref(y_t)",
                words="KL (k1) of turn i to the reference; mean over the rollout's turns",
            ),
        ),
    )


@formula.register(Whiten)
def whiten(part: Whiten, run: Run) -> Formula:
    """Return REINFORCE++'s standardised returns."""
    discount = "" if part.gamma == 1.0 else f"{num(part.gamma)}^(u−t) "
    return Formula(
        term="A_t",
        where=(
            Definition(
                symbol="A_t",
                formula="(G_t − mean G) / sqrt(var G + 1e-8)",
                words="over all action tokens of the rollout",
            ),
            Definition(
                symbol="G_t", formula=f"Σ_(u≥t) {discount}ρ_u", words="over the tokens of the turn"
            ),
            _token_reward(part.kl_coef, run),
        ),
    )


@formula.register(GAE)
def gae(part: GAE, run: Run) -> Formula:
    """Return PPO's advantages."""
    ahead, lam = times(part.gamma), times(part.gamma * part.lam)
    end = "whitened over the rollout afterwards" if part.whiten else ""
    return Formula(
        term="A_t",
        where=(
            Definition(symbol="A_t", formula=f"δ_t + {lam}A_(t+1)", words=end),
            Definition(
                symbol="δ_t",
                formula=f"ρ_t + {ahead}V°_(t+1) − V°_t",
                words=f"V°_t: the value head before token t at the rollout, a number; 0 after the "
                f"{part.chain}'s end",
            ),
            _token_reward(part.kl_coef, run),
        ),
    )


def _token_reward(kl_coef: float, run: Run) -> Definition:
    symbol = "β" if run.model.adaptive_kl is not None and not run.loss.kl_coef else num(kl_coef)
    cost = f" − {symbol} log π_old(y_t)/π_ref(y_t)" if kl_coef else ""
    reward = f"A⁰_i on the last token of turn i, else 0{',' if cost else ''}{cost}"
    return Definition(symbol="ρ_t", formula=reward)
