"""What an update did, by sign of the advantage, side of the ratio, and entropy."""

import math

import pytest
import torch

from sampo.losses import (
    Aggregation,
    Clip,
    DetachedClip,
    GeometricMean,
    LossInputs,
    PolicyLoss,
    Ratio,
    TokenLog,
    token_metrics,
)
from sampo.losses.cells import effective_sample_size


def inputs_by_hand(**others) -> LossInputs:
    """Six entries of which five are action tokens.

    ::

        advantage   -1    -1    +1   +1    0
        log-ratio  -0.5  -0.1  +0.5 -0.1  -0.5
        k3 to ref   d=1   d=0   d=1  d=0   d=0        e - 2 each where d = 1
        entropy      3     1     1    3     3
    """
    nan = math.nan
    log_ratio = torch.tensor([[-0.5, nan, -0.1, 0.5, -0.1, -0.5]])
    ids = torch.tensor([[7, -1, 7, 8, 8, 8]])
    return LossInputs(
        logprobs=log_ratio - 1.0,
        old_logprobs=torch.full((1, 6), -1.0),
        advantages=torch.tensor([[-1.0, nan, -1.0, 1.0, 1.0, 0.0]]),
        action_mask=ids >= 0,
        turn_ids=ids,
        episode_ids=ids,
        weights=torch.full((1, 6), 0.2),
        ref_logprobs=log_ratio - 1.0 + torch.tensor([[1.0, 0, 0, 1, 0, 0]]),
        **others,
    )


LOSS = PolicyLoss(
    ratio=Ratio(level="token"), surrogate=Clip(), aggregation=Aggregation(kind="token_mean")
)
ENTROPY = torch.tensor([[3.0, math.nan, 1, 1, 3, 3]])


def test_cells_by_hand():
    log = LOSS(inputs_by_hand(entropy=ENTROPY)).tokens
    metrics = token_metrics(log, (0.8, 1.2))

    def cell(name: str, kind: str = "cells") -> list[float]:
        keys = ("token_share", "clip_fraction", "kl_share")
        return [metrics[f"{kind}/{name}/{key}"] for key in keys]

    assert cell("negative_below") == pytest.approx([0.4, 0.5, 0.5])
    assert cell("negative_above") == [0.0, 0.0, 0.0]
    assert cell("positive_below") == pytest.approx([0.2, 0.0, 0.0])
    assert cell("positive_above") == pytest.approx([0.2, 1.0, 0.5])
    # The median entropy is 3, so nothing lies above it.
    assert cell("negative_below", "cells_low_entropy") == pytest.approx([0.4, 0.5, 0.5])
    assert cell("negative_below", "cells_high_entropy") == [0.0, 0.0, 0.0]
    assert metrics["cells/negative_below/ratio_p05"] == pytest.approx(math.exp(-0.5))
    assert metrics["cells/negative_below/ratio_p95"] == pytest.approx(math.exp(-0.1))
    assert metrics["cells/positive_above/ratio_p50"] == pytest.approx(math.exp(0.5))
    assert metrics["out_of_range_lower"] == pytest.approx(0.2)
    assert metrics["out_of_range_upper"] == pytest.approx(0.2)


def test_halves_by_entropy():
    log = LOSS(inputs_by_hand(entropy=ENTROPY + torch.tensor([[0.5, 0, 0, 0, -1, -1]]))).tokens
    metrics = token_metrics(log, None)
    assert metrics["cells_high_entropy/negative_below/token_share"] == pytest.approx(0.2)
    assert metrics["cells_low_entropy/negative_below/token_share"] == pytest.approx(0.2)
    assert metrics["cells_high_entropy/negative_below/kl_share"] == pytest.approx(0.5)
    assert metrics["cells_high_entropy/negative_below/clip_fraction"] == 1.0
    assert "out_of_range_lower" not in metrics


def test_what_was_not_measured_is_not_reported():
    log = PolicyLoss(kl_coef=0.0)(inputs_by_hand()).tokens
    assert log.entropy is None
    metrics = token_metrics(log, None)
    assert not [name for name in metrics if "entropy" in name or "sampling" in name]
    empty = TokenLog.cat([log])
    assert len(empty) == 5 and empty.turn.tolist() == [7, 7, 8, 8, 8]


def test_effective_sample_size():
    assert effective_sample_size(torch.zeros(4)) == pytest.approx(1.0)
    assert effective_sample_size(torch.tensor([500.0, 0.0, 0.0, 0.0])) == pytest.approx(0.25)
    # Weights 1 and 3: 16 / (2 * 10).
    assert effective_sample_size(torch.tensor([0.0, math.log(3)])) == pytest.approx(0.8)
    log = LOSS(inputs_by_hand(sampling_logprobs=torch.full((1, 6), -1.0))).tokens
    assert log.mismatch.tolist() == pytest.approx((log.old_logprobs + 1.0).tolist())


def test_what_no_clip_stops_is_seen_as_out_of_range():
    """CISPO has no lower clip and GMPO reports a mean of clipped ratios; both are still watched."""
    for loss in (
        PolicyLoss(ratio=Ratio(level="token"), surrogate=DetachedClip(), kl_coef=0.0),
        PolicyLoss(surrogate=GeometricMean(clip_low=0.2, clip_high=0.2), kl_coef=0.0),
    ):
        log = loss(inputs_by_hand()).tokens
        metrics = token_metrics(log, loss.surrogate.clip_range)
        assert metrics["out_of_range_lower"] == pytest.approx(0.2)
        assert metrics["out_of_range_upper"] == pytest.approx(0.2)
