"""What an update did, by sign of the advantage and side of the ratio."""

from dataclasses import replace

import pytest
import torch

from sampo.losses import Aggregation, Clip, LossInputs, PolicyLoss, Ratio


def test_cells_by_hand():
    """Five tokens; the clip range is [0.8, 1.2] and the log-ratio 0.1 or 0.5 up or down.

    ::

        advantage   -1    -1    +1   +1    0
        log-ratio  -0.5  -0.1  +0.5 -0.1  -0.5
        k3 to ref   d=1   d=0   d=1  d=0   d=0        e - 2 each where d = 1
        z            1    -1    -1    1     1
    """
    log_ratio = torch.tensor([[-0.5, -0.1, 0.5, -0.1, -0.5]])
    ids = torch.zeros(1, 5, dtype=torch.int64)
    inputs = LossInputs(
        logprobs=log_ratio - 1.0,
        old_logprobs=torch.full((1, 5), -1.0),
        advantages=torch.tensor([[-1.0, -1.0, 1.0, 1.0, 0.0]]),
        action_mask=torch.ones(1, 5, dtype=torch.bool),
        turn_ids=ids,
        episode_ids=ids,
        weights=torch.full((1, 5), 0.2),
        ref_logprobs=log_ratio - 1.0 + torch.tensor([[1.0, 0, 1, 0, 0]]),
        entropy_zscores=torch.tensor([[1.0, -1, -1, 1, 1]]),
    )
    loss = PolicyLoss(
        ratio=Ratio(level="token"),
        surrogate=Clip(),
        aggregation=Aggregation(kind="token_mean"),
    )
    metrics = {name: metric.value for name, metric in loss(inputs).metrics.items()}

    def cell(name: str) -> list[float]:
        keys = ("token_share", "clip_fraction", "kl_share", "high_entropy/kl_share")
        return [metrics[f"cells/{name}/{key}"] for key in keys]

    assert cell("negative_below") == pytest.approx([0.4, 0.5, 0.5, 0.5])
    assert cell("negative_above") == [0.0, 0.0, 0.0, 0.0]
    assert cell("positive_below") == pytest.approx([0.2, 0.0, 0.0, 0.0])
    assert cell("positive_above") == pytest.approx([0.2, 1.0, 0.5, 0.0])
    assert metrics["out_of_range_lower"] == pytest.approx(0.2)
    assert metrics["out_of_range_upper"] == pytest.approx(0.2)
    bare = replace(loss, kl_coef=0.0)(replace(inputs, ref_logprobs=None, entropy_zscores=None))
    assert not [name for name in bare.metrics if "kl_share" in name or "high_entropy" in name]
