"""What an update costs, as far as it is known before anything is played."""

from __future__ import annotations

from dataclasses import dataclass

from sampo.explain.formula import plural
from sampo.explain.run import Run, Span


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """One line: how much of what, and why so much."""

    what: str
    amount: str
    why: str


def cost_rows(run: Run) -> list[CostRow]:
    """Return the cost of one update, and of the run where its length is known."""
    return [*_rollout(run), *_training(run), _staleness(run), *_whole_run(run)]


def _rounds(run: Run) -> int:
    return run.data.plan.max_rounds if run.filters else 1


def _rollout(run: Run) -> list[CostRow]:
    plan, rounds, advantage = run.data.plan, _rounds(run), run.data.advantage
    played = Span(least=run.episodes, most=run.episodes * rounds)
    why = f"{plural(plan.groups_per_update, 'task')} of {plan.group_size}"
    if rounds > 1:
        why += f"; what the filter drops is replaced by other tasks, in at most {rounds} rounds"
    rows = [CostRow(what="episodes", amount=str(played), why=why)]
    turns = played.most * run.max_turns
    if advantage.needs_greedy:
        groups = Span(least=plan.groups_per_update, most=plan.groups_per_update * rounds)
        why = (
            f"one per task at temperature 0, not trained on: {type(advantage).__name__}'s baseline"
        )
        rows.append(CostRow(what="greedy episodes", amount=str(groups), why=why))
        turns += groups.most * run.max_turns
    tokens = f"{run.max_new_tokens:,} per turn"
    return [
        *rows,
        CostRow(
            what="turns",
            amount=f"at most {turns:,}",
            why=f"{run.max_turns} per episode, fewer where episodes end early",
        ),
        CostRow(what="action tokens", amount=f"at most {turns * run.max_new_tokens:,}", why=tokens),
    ]


def _training(run: Run) -> list[CostRow]:
    plan, row = run.model.mini_batches, "episode" if run.rows_are_episodes else "turn"
    if plan.rows is not None:
        why = f"{plural(plan.rows, 'row')} each, a row being one {row}"
    else:
        why = plural(plan.number or 1, "mini-batch", "mini-batches")
    why += f" × {plural(plan.epochs, 'epoch')}; rows {'shuffled' if plan.shuffle else 'in order'}"
    steps = CostRow(what="optimiser steps", amount=str(run.steps), why=why)
    return [steps, _passes(run)]


def _passes(run: Run) -> CostRow:
    """Return how often the models see a token that is trained on, after it was sampled."""
    needs = frozenset() if run.stage is None else run.stage.requires
    epochs, loss = run.model.mini_batches.epochs, run.loss
    before: list[tuple[int, str]] = []
    if needs or not run.one_step:
        extra = " and ".join(sorted(needs & {"entropy", "values"}))
        before.append((1, "old log-probabilities" + (f" with {extra}" if extra else "")))
    if run.reference:
        adapters = run.model.hparams["lora"] is not None
        before.append((1, "reference" + (" (the adapters off)" if adapters else "")))
    if loss.needs_log_ratio or loss.needs_entropy_zscores:
        why = (
            "sequence mask"
            if loss.needs_log_ratio
            else f"entropies of {type(loss.surrogate).__name__}"
        )
        before.append((epochs, f"{why} (before each step)"))
    before.append((epochs, "training"))
    forward = sum(count for count, _ in before)
    why = ", ".join(f"{count} {name}" for count, name in before)
    recompute = "; the backward pass recomputes activations"
    why += recompute if run.model.hparams["gradient_checkpointing"] else ""
    return CostRow(
        what="passes per token",
        amount=f"{forward} forward, {epochs} backward",
        why=f"{why}; rows with the same tokens are scored once",
    )


def _staleness(run: Run) -> CostRow:
    sync = "the engine gets new weights after each update"
    if run.one_step:
        return CostRow(
            what="staleness", amount="0 steps", why=f"all data is the present policy's; {sync}"
        )
    age = run.steps.most - 1
    return CostRow(
        what="staleness",
        amount=f"0 to {plural(age, 'step')}",
        why=f"the last step trains on data {plural(age, 'step')} old; {sync}",
    )


def _whole_run(run: Run) -> list[CostRow]:
    if run.updates is None:
        return []
    most = run.updates * run.episodes * _rounds(run)
    return [
        CostRow(
            what="whole run",
            amount=plural(run.updates, "update"),
            why=f"at most {plural(most, 'training episode')}; evaluations come on top",
        )
    ]
