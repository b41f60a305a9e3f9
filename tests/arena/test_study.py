"""The trials of one method in one environment, on disk after every step."""

import json

import pytest

from sampo.arena.study import studies
from sampo.errors import ConfigError

from .conftest import TUNE


@pytest.fixture
def look(write, tmp_path):
    """Return a function that reads GRPO's search from disk, whose `tune` is changed a little."""

    def read(**changes):
        (study,) = studies(write(tune={**TUNE, **changes}), tmp_path)  # SAMPO has nothing to turn
        return study

    return read


def test_from_the_first_trial_to_the_choice(look, tmp_path):
    study = look()
    assert (study.name, study.size) == ("sokoban/grpo", 2)  # two values, though three trials
    seen = []
    for number in study.open_trials():
        seen.append([run.name for run in study.runs(number)])
        said = json.loads((tmp_path / "sokoban/grpo/tuning.json").read_text())
        assert len(said["trials"]) == number + 1
        study.record(number, 0.25 * number)
    assert seen == [[f"sokoban/grpo/trial_{n}/seed_{seed}" for seed in (7, 8)] for n in (0, 1)]
    assert study.settle()
    assert study.chosen == 1
    again = look()
    assert list(again.open_trials()) == []
    assert again.chosen == 1


def test_the_choice_reaches_the_runs_of_the_comparison(write, look, tmp_path):
    study = look()
    for number in study.open_trials():
        study.record(number, float(number))
    study.settle()
    run = study.tuned(write(tune=TUNE).runs()[0])
    assert run.name == "sokoban/grpo/seed_0"
    assert run.budget.episodes == 100
    assert run.method.arguments() == ["--config", "algorithms/grpo", "--model.loss.kl_coef=0.05"]


def test_a_failed_trial_is_tried_again_only_before_the_choice(look):
    study = look()
    for number in study.open_trials():
        study.record(number, None if number == 0 else 0.5)
    again = look()
    assert list(again.open_trials()) == [0]
    assert again.settle()
    assert again.chosen == 1
    assert list(look().open_trials()) == []


def test_equals_go_to_the_earlier_and_failures_to_nobody(look):
    study = look()
    for number in study.open_trials():
        study.record(number, None)
    assert not study.settle()
    study.record(1, 0.5)
    study.record(0, 0.5)
    assert study.settle()
    assert study.chosen == 0


def test_another_search_in_the_same_folder_is_refused(look):
    next(look().open_trials())
    look()
    with pytest.raises(ConfigError, match="begun with another `tune`"):
        look(seeds=[7])
