"""Cautions about settings that another setting leaves without any effect."""

from __future__ import annotations

from sampo.explain.cautions.caution import Caution, Rule
from sampo.explain.formula import num
from sampo.explain.run import Run


def value_rate_without_head(run: Run) -> Caution | None:
    """Find a learning rate of a value head that is not there."""
    rate = run.model.hparams["value_learning_rate"]
    if rate is None or run.loss.value is not None:
        return None
    return Caution(
        says=f"value_learning_rate {num(rate)} has no effect: there is no value head.",
        why="Only loss.value adds one, and GAE is what uses it.",
        fix="leave out model.value_learning_rate, or --config algorithms/ppo.",
    )


def product_of_one(run: Run) -> Caution | None:
    """Find a choice between mean and product where there is a single token."""
    ratio = run.loss.ratio
    if ratio.level != "token" or ratio.length_normalise:
        return None
    return Caution(
        says="ratio.length_normalise false has no effect at level token.",
        why="It chooses between the product and the geometric mean over a turn or an episode; a "
        "token is alone.",
        fix="leave out model.loss.ratio.length_normalise, or --model.loss.ratio.level turn.",
    )


def level_of_a_token_mean(run: Run) -> Caution | None:
    """Find sequences asked for where every token counts the same."""
    rules = {
        "aggregation": run.loss.aggregation,
        "regulariser_aggregation": run.loss.regulariser_aggregation,
    }
    names = [
        name
        for name, rule in rules.items()
        if rule is not None and rule.kind == "token_mean" and rule.level == "episode"
    ]
    if not names:
        return None
    return Caution(
        says=f"{' and '.join(f'{name}.level' for name in names)} episode changes no weight with "
        "token_mean.",
        why="Every token counts the same, whatever a sequence is; the level only keeps the rows of "
        "an episode in one mini-batch.",
        fix=f"--model.loss.{names[0]}.level turn, or kind sequence_mean_token_mean.",
    )


NO_EFFECT_RULES: tuple[Rule, ...] = (
    value_rate_without_head,
    product_of_one,
    level_of_a_token_mean,
)
