"""Costs, against numbers worked out by hand."""

import pytest

from sampo.advantages import GAE, EntropyModulation, ReMax, TurnReward
from sampo.explain.cost import cost_rows
from sampo.filtering import KeepAll
from sampo.losses import EntropyBalanced, PolicyLoss, Ratio, SequenceMask, ValueLoss
from sampo.rollout.conversation import TranscriptContext


def costs(run) -> dict[str, tuple[str, str]]:
    return {row.what: (row.amount, row.why) for row in cost_rows(run)}


def test_sampo(make_run) -> None:
    """16 tasks x 8 episodes, at most 3 rounds, 15 turns, 64 tokens; 4 steps; 200 updates."""
    rows = costs(make_run())
    assert rows["episodes"][0] == "128 to 384"
    assert rows["turns"][0] == "at most 5,760"
    assert rows["action tokens"][0] == "at most 368,640"
    assert rows["optimiser steps"] == ("4", "4 mini-batches × 1 epoch; rows in order")
    assert rows["passes per token"][0] == "3 forward, 1 backward"
    assert rows["staleness"][0] == "0 to 3 steps"
    assert rows["whole run"][0] == "200 updates"
    assert "76,800 training episodes" in rows["whole run"][1]


def test_there_are_no_more_steps_than_rows_or_episodes(make_run) -> None:
    rows = costs(make_run(num_mini_batches=500))
    assert rows["optimiser steps"][0] == "128 to 500"  # 128 to 1,920 turns
    whole = PolicyLoss(ratio=Ratio(level="episode"))
    assert costs(make_run(whole, num_mini_batches=500))["optimiser steps"][0] == "128"


def test_without_a_filter_there_is_one_round(make_run) -> None:
    rows = costs(make_run(group_filter=KeepAll(), updates=None))
    assert rows["episodes"] == ("128", "16 tasks of 8")
    assert "whole run" not in rows


def test_greedy_episodes_come_on_top(make_run) -> None:
    rows = costs(make_run(advantage=ReMax(), group_filter=KeepAll(), max_filter_rounds=2))
    assert rows["greedy episodes"][0] == "16"
    assert rows["turns"][0] == "at most 2,160"  # (128 + 16) * 15


@pytest.mark.parametrize(
    ("context", "steps"),
    [(None, "3 to 32"), (TranscriptContext(), "3")],
)
def test_mini_batches_by_rows(make_run, context, steps: str) -> None:
    """128 episodes of 1 to 15 turns: 128 to 1,920 rows; 60 per step, so 3 to 32 steps."""
    contexts = {} if context is None else {"context": context}
    rows = costs(make_run(num_mini_batches=None, mini_batch_rows=60, **contexts))
    assert rows["optimiser steps"][0] == steps
    row = "turn" if context is None else "episode"
    assert rows["optimiser steps"][1].startswith(f"60 rows each, a row being one {row}")


@pytest.mark.parametrize(
    ("settings", "passes", "why"),
    [
        ({"num_mini_batches": 1}, "2 forward, 1 backward", "1 reference, 1 training"),
        (
            {"epochs": 3},
            "5 forward, 3 backward",
            "1 old log-probabilities, 1 reference, 3 training",
        ),
        (
            {"loss": PolicyLoss(masking=SequenceMask()), "epochs": 2},
            "6 forward, 2 backward",
            "2 sequence mask (before each step)",
        ),
        (
            {"loss": PolicyLoss(surrogate=EntropyBalanced())},
            "4 forward, 1 backward",
            "1 entropies of EntropyBalanced",
        ),
        (
            {"loss": PolicyLoss(kl_coef=0.0), "reference": False},
            "2 forward, 1 backward",
            "1 old log-probabilities, 1 training",
        ),
        # one step, but the stage needs the old policy's entropies
        (
            {"num_mini_batches": 1, "batch_advantage": EntropyModulation()},
            "3 forward, 1 backward",
            "1 old log-probabilities with entropy",
        ),
        (
            {
                "loss": PolicyLoss(value=ValueLoss()),
                "batch_advantage": GAE(),
                "advantage": TurnReward(),
            },
            "3 forward, 1 backward",
            "1 old log-probabilities with values",
        ),
        ({"gradient_checkpointing": True}, "3 forward, 1 backward", "recomputes activations"),
    ],
)
def test_passes(make_run, settings, passes: str, why: str) -> None:
    amount, reason = costs(make_run(**settings))["passes per token"]
    assert amount == passes
    assert why in reason


def test_one_step_is_never_stale(make_run) -> None:
    assert costs(make_run(num_mini_batches=1))["staleness"][0] == "0 steps"
