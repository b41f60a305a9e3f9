"""A whole policy in this process beside one that may be sharded."""

from __future__ import annotations

import torch

from sampo.models.policy import Policy
from sampo.models.sharding import blank_of, compute_device, whole_parameters


class WholeCopy:
    """An unsharded policy that takes the weights of another one when it is told to.

    Args:
        policy: sharded or not. Its structure is copied now; weights come with `take`.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = blank_of(policy)
        self.policy.requires_grad_(requires_grad=False)

    @torch.no_grad()
    def take(self, policy: Policy) -> None:
        """Take the present weights, parameter by parameter. Collective if they are sharded."""
        device = compute_device(policy)
        self.policy.to(device)
        own = dict(self.policy.named_parameters())
        for name, theirs in whole_parameters(policy):
            mine = own[name]
            if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
                mine.data = torch.empty_like(theirs, device=device)
            mine.copy_(theirs)

    def give_back(self) -> None:
        """Free the memory of the weights until the next `take`."""
        for parameter in self.policy.parameters():
            parameter.data = parameter.new_empty(0)
