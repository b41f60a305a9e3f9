"""The reference policy: frozen weights that the trained policy is kept near."""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import Tensor

from sampo.models.policy import Policy


class Reference:
    """A frozen policy in evaluation mode.

    Deliberately not an `nn.Module`: as an attribute of one it stays out of the module tree, so it
    is neither trained nor written into every checkpoint. The price is that its owner moves it to
    the device (`to`) by hand.

    Args:
        policy: is frozen and kept, not copied; see `Reference.copy_of`.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy.eval().requires_grad_(False)

    @classmethod
    def copy_of(cls, policy: Policy) -> Reference:
        """Return a reference with the policy's present weights; the policy stays as it is.

        Call it before the policy is sharded.
        """
        return cls(deepcopy(policy))

    def to(self, device: torch.device | str) -> Reference:
        """Move the weights; return self."""
        self.policy.to(device)
        return self

    def follow(self, policy: Policy) -> Reference:
        """Take the device and the precision of another policy; return self.

        A trainer that casts the trained weights does not see this copy, and the KL between one
        policy in two precisions is not zero.
        """
        weight = policy.head_weight
        self.policy.to(device=weight.device, dtype=weight.dtype)
        return self

    @torch.no_grad()
    def logprobs(
        self,
        token_ids: Tensor,
        lengths: Tensor,
        action_mask: Tensor,
        *,
        temperature: float = 1.0,
    ) -> Tensor:
        """Return `[B, L]` log-probabilities, zero off the mask; arguments as `Policy.forward`."""
        scores = self.policy(
            token_ids, lengths, action_mask, temperature=temperature, with_entropy=False
        )
        return scores.logprobs
