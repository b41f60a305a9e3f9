"""The reference stays where it was while the policy moves."""

from __future__ import annotations

import torch
from torch import nn

from sampo.models.policy import Policy
from sampo.models.reference import Reference


class Owner(nn.Module):
    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.policy = policy
        self.reference = Reference.copy_of(policy)


def test_frozen_and_out_of_the_module_tree(model):
    policy = Policy(model).train()
    owner = Owner(policy)
    assert policy.training and all(p.requires_grad for p in policy.parameters())
    assert not any("reference" in key for key in owner.state_dict())
    assert len(list(owner.parameters())) == len(list(policy.parameters()))

    ids, lengths = torch.arange(4, 10)[None], torch.tensor([6])
    mask = torch.tensor([[False, False, True, True, True, True]])
    before = owner.reference.logprobs(ids, lengths, mask)
    assert torch.equal(before, policy(ids, lengths, mask).logprobs.detach())
    assert not before.requires_grad and not before.is_inference()

    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(1.1)
    owner.train()
    assert not owner.reference.policy.training
    assert torch.equal(owner.reference.logprobs(ids, lengths, mask), before)
    assert not torch.allclose(policy(ids, lengths, mask).logprobs, before)
