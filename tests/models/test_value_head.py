"""Values in full precision."""

import torch

from sampo.models.value_head import ValueHead


def test_it_starts_at_zero_and_stays_in_full_precision():
    head = ValueHead(4)
    hidden = torch.randn(3, 4, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        values = head(hidden)
    assert values.dtype == torch.float32 and values.tolist() == [0.0, 0.0, 0.0]
    head.weight.data.fill_(1.0)
    assert torch.allclose(head(hidden), hidden.float().sum(dim=1))
