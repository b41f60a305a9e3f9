"""Whole copies and what a model's layers are; sharded policies are in tests/distributed."""

import pytest
import torch

from sampo.errors import PolicyError
from sampo.models.policy import Policy
from sampo.models.sharding import compute_device, transformer_layers
from sampo.models.whole_weights import WholeCopy, gathered_state
from tiny import tiny_model


def test_a_whole_copy_has_its_own_memory_and_takes_weights_when_told() -> None:
    policy = Policy(tiny_model())
    copy = WholeCopy(policy)
    assert sum(p.numel() for p in copy.policy.parameters()) == 0  # weights come with `take`
    copy.take(policy)
    mine, theirs = dict(copy.policy.named_parameters()), dict(policy.named_parameters())
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], weight) for name, weight in theirs.items())
    assert not any(weight.requires_grad for weight in mine.values())
    policy.head_weight.data.add_(1.0)
    assert not torch.equal(copy.policy.head_weight, policy.head_weight)
    copy.take(policy)
    assert torch.equal(copy.policy.head_weight, policy.head_weight)


def test_ties_and_buffers_are_copied() -> None:
    policy = Policy(tiny_model())
    copy = WholeCopy(policy)
    copy.take(policy)
    assert copy.policy.head_weight is copy.policy.model.get_input_embeddings().weight
    tokens, ones = torch.tensor([[5, 6, 7]]), torch.tensor([[False, True, True]])
    scores = [p(tokens, torch.tensor([3]), ones).logprobs for p in (policy, copy.policy)]
    assert torch.equal(scores[0], scores[1])


def test_memory_is_given_back_until_the_next_time() -> None:
    policy = Policy(tiny_model())
    copy = WholeCopy(policy)
    copy.take(policy)
    copy.give_back()
    assert sum(p.numel() for p in copy.policy.parameters()) == 0
    copy.take(policy)
    assert torch.equal(copy.policy.head_weight, policy.head_weight)


def test_layers_are_those_that_the_model_names() -> None:
    policy = Policy(tiny_model())
    assert transformer_layers(policy) == list(policy.model.model.layers)
    policy.model._no_split_modules = None
    with pytest.raises(PolicyError, match="cannot be sharded"):
        transformer_layers(policy)


def test_an_unsharded_policy_is_its_own_state() -> None:
    policy = Policy(tiny_model())
    assert compute_device(policy) == torch.device("cpu")
    state = gathered_state(policy, keep=True)
    assert state.keys() == {f"model.{name}" for name in policy.model.state_dict()}
    assert gathered_state(policy, keep=False) == {}
