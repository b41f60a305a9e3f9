"""What a trial should try next, by optuna; knows nothing of runs or files.

A proposal depends on the trials before it and nothing else, so a search that was stopped goes on as
if it had not been.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType

from sampo.arena.knobs import Knob, Value
from sampo.errors import MissingDependencyError

Known = Sequence[tuple[Mapping[str, Value], float | None]]
"""The values and the success of earlier trials; None: it failed."""


def load_optuna() -> ModuleType:
    """Return optuna.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        import optuna
    except ImportError as error:
        raise MissingDependencyError(
            "`tune` in a grid needs optuna, which is not installed: pip install 'sampo[arena]'."
        ) from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def propose(knobs: Sequence[Knob], known: Known, trials: int) -> dict[str, Value]:
    """Return the values of the next trial, which no earlier one has had.

    The first takes the first of everything, the first half is random, the second half is chosen by
    the tree-structured Parzen estimator, or is random where that repeats itself.

    Args:
        knobs: what may be turned.
        known: the trials so far, in order.
        trials: how many there will be; at most as many as there are combinations.
    """
    number = len(known)
    if number == 0:
        return {knob.name: knob.first for knob in knobs}
    optuna = load_optuna()
    space = {
        knob.name: optuna.distributions.CategoricalDistribution(tuple(range(len(knob.choices))))
        if knob.choices
        else optuna.distributions.FloatDistribution(knob.low, knob.high, log=knob.log)
        for knob in knobs
    }
    states = optuna.trial.TrialState
    seen = [dict(values) for values, _ in known]
    sampler = optuna.samplers.TPESampler(seed=number, n_startup_trials=max(1, trials // 2))
    for attempt in range(1000):
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.add_trials(
            optuna.trial.create_trial(
                params=dict(values),
                distributions=space,
                value=success,
                state=states.FAIL if success is None else states.COMPLETE,
            )
            for values, success in known
        )
        values = dict(study.ask(space).params)
        if values not in seen:
            return values
        sampler = optuna.samplers.RandomSampler(seed=1000 * number + attempt)
    raise AssertionError("a thousand random draws out of a space with something left in it")
