"""Token weights by hand."""

import pytest
import torch

from sampo.errors import ConfigError
from sampo.losses import Aggregation

# Two turns: 3 tokens and 1 token, with an observation token between, in one row.
TURNS = [[0, 0, 0, -1, 1]]


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [
        (Aggregation(kind="token_mean"), [1 / 4, 1 / 4, 1 / 4, 0, 1 / 4]),
        (Aggregation(kind="sequence_mean_token_mean"), [1 / 6, 1 / 6, 1 / 6, 0, 1 / 2]),
        (Aggregation(kind="sequence_mean_token_sum"), [1 / 2, 1 / 2, 1 / 2, 0, 1 / 2]),
        # 1 / (10 tokens * 2 sequences)
        (Aggregation(kind="sum_over_max_length", max_length=10), [0.05, 0.05, 0.05, 0, 0.05]),
        # The whole row is one episode of 4 tokens.
        (Aggregation(level="episode"), [1 / 4, 1 / 4, 1 / 4, 0, 1 / 4]),
    ],
)
def test_weights(batch_of, aggregation, expected):
    batch = batch_of(TURNS, [[9, 9, 9, -1, 9]])
    assert aggregation(batch).normalised()[0].tolist() == pytest.approx(expected)


def test_denominators_add_up_over_shards(batch_of):
    """Row 0 on one rank, row 1 on another: the weights are those of the batch in one place."""
    whole = batch_of([[0, 0], [1, -1]])
    left, right = batch_of([[0, 0]]), batch_of([[1, -1]])
    for kind in ("token_mean", "sequence_mean_token_mean", "sequence_mean_token_sum"):
        aggregation = Aggregation(kind=kind)
        parts = [aggregation(left), aggregation(right)]
        total = parts[0].denominator + parts[1].denominator
        sharded = torch.cat([part.normalised(total) for part in parts])
        assert torch.equal(sharded, aggregation(whole).normalised())


def test_rejected_sequences_leave_the_denominator(batch_of):
    keep = torch.tensor([[False, False, False, False, True]])
    for kind, expected in [("token_mean", 1.0), ("sequence_mean_token_mean", 1.0)]:
        weights = Aggregation(kind=kind)(batch_of(TURNS), keep).normalised()
        assert weights[0].tolist() == [0, 0, 0, 0, expected]


def test_nothing_to_count_gives_zeros(batch_of):
    for kind in ("token_mean", "sequence_mean_token_mean"):
        assert Aggregation(kind=kind)(batch_of([[-1, -1]])).normalised().tolist() == [[0, 0]]


def test_wrong_settings_say_what_to_do(golden):
    with pytest.raises(ConfigError, match="Did you mean 'token_mean'"):
        Aggregation(kind="token-mean")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match=r"set aggregation\.max_length"):
        Aggregation(kind="sum_over_max_length")(golden)
    with pytest.raises(ConfigError, match="no effect"):
        Aggregation(kind="token_mean", max_length=5)
    with pytest.raises(ConfigError, match="turn or episode"):
        Aggregation(level="token")  # pyright: ignore[reportArgumentType]
