"""The reference policy: frozen weights that the trained policy is kept near."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from sampo.models.logprobs import TokenScores
from sampo.models.lora import adapters_off, has_adapters
from sampo.models.policy import Policy


class AdaptersOff:
    """A policy with adapters as it was before training; scores like a `Policy`.

    Args:
        policy: the one that is trained; not copied.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def __call__(self, *args: Any, **options: Any) -> TokenScores:
        """Score with the adapters off; arguments as `Policy.forward`."""
        with torch.no_grad(), adapters_off(self._policy):
            return self._policy(*args, **options)


class Reference:
    """A frozen policy in evaluation mode.

    Deliberately not an `nn.Module`: as an attribute of one it stays out of the module tree, so it
    is neither trained nor written into every checkpoint. The price is that its owner moves it to
    the device (`to`) by hand.

    Args:
        policy: scores as the reference; see `Reference.of`.
        model: the frozen copy that has to be moved or sharded like the policy; None: there is none.
    """

    def __init__(self, policy: Policy | AdaptersOff, model: Policy | None = None) -> None:
        self.policy = policy
        self.model = model

    @classmethod
    def of(cls, policy: Policy) -> Reference:
        """Return the policy as it is now: with adapters its own base, else a copy."""
        if has_adapters(policy):
            return cls(AdaptersOff(policy))
        return cls.copy_of(policy)

    @classmethod
    def copy_of(cls, policy: Policy) -> Reference:
        """Return a reference with the policy's present weights; the policy stays as it is.

        Call it before the policy is sharded.
        """
        copy = deepcopy(policy).eval().requires_grad_(False)
        return cls(copy, copy)

    def to(self, device: torch.device | str) -> Reference:
        """Move the weights, where they are its own; return self."""
        if self.model is not None:
            self.model.to(device)
        return self

    def pack(self, attention: str) -> None:
        """Pack rows, as the policy does; see `Policy.pack`."""
        if self.model is not None:
            self.model.pack(attention)

    def follow(self, policy: Policy) -> Reference:
        """Take the device and the precision of another policy; return self.

        A trainer that casts the trained weights does not see this copy, and the KL between one
        policy in two precisions is not zero.
        """
        if self.model is not None:
            weight = policy.head_weight
            self.model.to(device=weight.device, dtype=weight.dtype)
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
