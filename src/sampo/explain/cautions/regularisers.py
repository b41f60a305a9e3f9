"""Cautions about the KL to the reference."""

from __future__ import annotations

from sampo.explain.cautions.caution import Caution, Rule
from sampo.explain.formula import num
from sampo.explain.run import Run


def kl_only_logged(run: Run) -> Caution | None:
    """Find a reference that is scored and pulls at nothing."""
    if run.uses_kl or not run.reference:
        return None
    return Caution(
        says="The KL to the reference is only logged: a reference is kept, but no term uses it.",
        why="It costs one forward pass per token and a copy of the weights. In the paper KL 0.01 "
        "is worth 18 points of success (Table 2); its Sokoban scripts log it only.",
        fix="--model.loss.kl_coef 0.01, or --model.reference false to save the pass.",
    )


def kl_off(run: Run) -> Caution | None:
    """Find a run that nothing holds to its start."""
    if run.uses_kl or run.reference:
        return None
    return Caution(
        says="There is no KL term and no reference, so how far the policy drifts is not seen.",
        why="In the paper KL 0.01 is worth 18 points of success (Table 2), and the KL to the "
        "reference is an early sign of collapse.",
        fix="--model.reference true --model.loss.kl_coef 0.01.",
    )


def kl_twice(run: Run) -> Caution | None:
    """Find the KL in the loss and in the reward."""
    if not run.loss.kl_coef or not run.kl_in_reward:
        return None
    return Caution(
        says=f"The KL is in the loss ({num(run.loss.kl_coef)}) and in the reward "
        f"({num(run.kl_in_reward)}).",
        why="Both pull to the same reference, so neither coefficient means what it says.",
        fix="--model.loss.kl_coef 0, or take it out of model.batch_advantage.",
    )


def k1_pulls_nowhere(run: Run) -> Caution | None:
    """Find the estimator whose own gradient is noise."""
    kl = run.loss.kl
    if not run.loss.kl_coef or kl.kind != "k1" or kl.gradient != "estimator":
        return None
    return Caution(
        says="The gradient of k1 is zero in expectation, so this KL term only adds noise.",
        why="k1 is an unbiased value of the KL, but differentiating it is not differentiating the "
        "KL.",
        fix="--model.loss.kl.gradient k2 or importance_weighted, or --model.loss.kl.kind k3.",
    )


REGULARISER_RULES: tuple[Rule, ...] = (kl_only_logged, kl_off, kl_twice, k1_pulls_nowhere)
