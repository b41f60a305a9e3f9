"""Off-policy correction by hand: what engine and trainer differ by, and what becomes of it."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sampo.errors import ConfigError
from sampo.losses import OffPolicyCorrection, correction_metrics

LOG2 = math.log(2.0)


@pytest.fixture
def batch(batch_of):
    """Two episodes: 5 of turns 0 and 1 (3 tokens), 6 of turn 2 (2 tokens)."""
    return batch_of([[0, 0], [1, -1], [2, 2]], [[5, 5], [5, -1], [6, 6]])


# Trainer minus engine; 9 is off the mask.
MISMATCH = torch.tensor([[LOG2, 0.0], [2 * LOG2, 9.0], [-3 * LOG2, -LOG2]])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # Each token by itself: 2, 1, 4, 1/8, 1/2.
        ({"level": "token"}, [[2, 1], [2, 0], [0.125, 0.5]]),
        ({"level": "token", "kind": "mask"}, [[2, 1], [0, 0], [0, 0.5]]),
        ({"level": "token", "kind": "reject"}, [[1, 1], [0, 0], [0, 1]]),
        # Geometric means per turn: sqrt 2, 4, 1/4.
        ({"level": "turn"}, [[2**0.5, 2**0.5], [2, 0], [0.25, 0.25]]),
        ({"level": "turn", "kind": "mask"}, [[2**0.5, 2**0.5], [0, 0], [0, 0]]),
        # Products per turn: 2, 4, 1/16.
        (
            {"level": "turn", "length_normalise": False, "upper": 3.0},
            [[2, 2], [3, 0], [1 / 16] * 2],
        ),
        # Per episode: (log 8) / 3 = log 2, over both rows; and 1/4.
        ({"level": "episode"}, [[2, 2], [2, 0], [0.25, 0.25]]),
        ({"level": "episode", "kind": "reject"}, [[1, 1], [1, 0], [0, 0]]),
        ({"level": "episode", "kind": "reject", "lower": 0.25}, [[1, 1], [1, 0], [1, 1]]),
    ],
)
def test_weights_by_hand(batch, settings, expected):
    # A little room at the bounds, which these numbers hit exactly.
    settings = {"upper": 2.0, "lower": 0.5, **settings}
    settings["upper"] *= 1 + 1e-6
    settings["lower"] *= 1 - 1e-6
    weights = OffPolicyCorrection(**settings)(MISMATCH, batch)
    assert torch.allclose(weights, torch.tensor(expected, dtype=torch.float32), atol=1e-5)


@given(
    st.sampled_from(["truncate", "mask", "reject"]), st.sampled_from(["token", "turn", "episode"])
)
def test_an_engine_that_agrees_changes_nothing(batch_of, kind, level):
    batch = batch_of([[0, 0], [1, -1], [2, 2]], [[5, 5], [5, -1], [6, 6]])
    weights = OffPolicyCorrection(kind=kind, level=level)(torch.zeros(3, 2), batch)
    assert torch.equal(weights, batch.action_mask.float())


@pytest.mark.parametrize("kind", ["truncate", "mask", "reject"])
@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_weighs_nothing(batch, kind, broken):
    mismatch = MISMATCH.clone().fill_(0.0)
    mismatch[0, 1] = broken
    weights = OffPolicyCorrection(kind=kind, level="turn")(mismatch, batch)
    assert weights.tolist() == [[0, 0], [1, 0], [1, 1]]


def test_facts(batch):
    weights = torch.tensor([[2.0, 2.0], [1.0, 7.0], [0.0, 0.0]])
    facts = correction_metrics(weights, batch.action_mask, upper=2.0)
    assert facts == {
        "correction_mean": 1.0,
        "correction_rejected": 0.4,
        "correction_truncated": 0.4,
    }


def test_wrong_settings_say_what_to_do():
    with pytest.raises(ConfigError, match="either side of 1"):
        OffPolicyCorrection(upper=0.9)
    with pytest.raises(ConfigError, match="either side of 1"):
        OffPolicyCorrection(lower=1.1)
    with pytest.raises(ConfigError, match="truncate, mask, reject"):
        replace(OffPolicyCorrection(), kind="clip")
