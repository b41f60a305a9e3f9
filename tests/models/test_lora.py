"""Adapters: what starts, is trained, is kept, and leaves."""

from __future__ import annotations

import sys
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerFast

from sampo.errors import CheckpointError, ConfigError, MissingDependencyError, PolicyError
from sampo.models.lora import (
    LoRA,
    adapters_off,
    add_adapters,
    check_same_adapters,
    keep_only_trained,
    merged_weights,
)
from sampo.models.policy import Policy
from sampo.models.publishing import published_weights
from sampo.models.reference import Reference
from tiny import save_tiny_policy

SMALL = LoRA(r=4, alpha=8.0)


def adapted(model: PreTrainedModel, lora: LoRA = SMALL, *, move: bool = True) -> Policy:
    """Return a policy with adapters, `B` no longer at zero where it is to have moved."""
    policy = Policy(model)
    add_adapters(model, lora)
    keep_only_trained(policy)
    if move:
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for name, parameter in policy.named_parameters():
                if "lora_B" in name:
                    parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))
    return policy


def score(policy: object) -> Tensor:
    ids = torch.tensor([[5, 9, 23, 71, 40, 12, 8]])
    mask = torch.ones_like(ids, dtype=torch.bool)
    mask[:, 0] = False
    return policy(ids, torch.tensor([7]), mask).logprobs  # pyright: ignore


def test_a_fresh_adapter_changes_nothing_and_is_all_that_is_trained(model: PreTrainedModel):
    before = score(Policy(deepcopy(model))).detach()
    policy = adapted(model, move=False)
    assert torch.equal(score(policy), before)
    score(policy).sum().backward()
    trained = {name for name, p in policy.named_parameters() if p.requires_grad}
    assert trained == {name for name, _ in policy.named_parameters() if "lora_" in name}
    # Two layers of seven linear layers each, an A and a B for every one.
    assert len(trained) == 2 * 7 * 2
    assert all((p.grad is not None) == (n in trained) for n, p in policy.named_parameters())


def test_the_reference_is_the_same_weights_with_the_adapters_off(model: PreTrainedModel):
    base = score(Policy(deepcopy(model))).detach()
    policy = adapted(model)
    reference = Reference.of(policy)
    assert reference.model is None, "no second copy in memory"
    assert not torch.allclose(score(policy), base, atol=1e-2)
    assert torch.equal(score(reference.policy), base)
    assert not score(reference.policy).requires_grad
    score(policy).sum().backward()  # on again, and trainable
    assert all(p.grad is not None for p in policy.parameters() if p.requires_grad)
    assert sum(p.requires_grad for p in policy.parameters()) == 28


def test_adapters_come_on_again_after_an_error(model: PreTrainedModel):
    policy = adapted(model)
    before = score(policy).detach()
    with pytest.raises(RuntimeError, match="out of memory"), adapters_off(policy):
        raise RuntimeError("out of memory")
    assert torch.equal(score(policy), before)


def test_merged_weights_by_hand(untied_model: PreTrainedModel):
    """W' = W + alpha / r B A, under the names of the base."""
    names = set(untied_model.state_dict())
    policy = adapted(untied_model, LoRA(r=2, alpha=6.0, target_modules=["q_proj"]))
    weights = dict(merged_weights(policy.model))
    assert set(weights) == names
    layer = policy.model.model.layers[1].self_attn.q_proj
    a, b = layer.lora_A["default"].weight, layer.lora_B["default"].weight
    expected = layer.base_layer.weight + 3.0 * (b @ a)
    name = "model.layers.1.self_attn.q_proj.weight"
    torch.testing.assert_close(weights[name], expected)
    k_proj = "model.layers.1.self_attn.k_proj.weight"
    assert torch.equal(weights[k_proj], policy.model.state_dict()[k_proj])


@pytest.mark.parametrize("gathered", [False, True])
def test_plain_transformers_loads_the_merged_folder(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, tmp_path: Path, gathered: bool
):
    policy = adapted(model)
    whole = {f"model.{k}": v.clone() for k, v in policy.model.state_dict().items()}
    policy.save_pretrained(tmp_path, tokenizer, state_dict=whole if gathered else None)
    assert not list(tmp_path.glob("adapter*"))
    plain = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert type(plain) is type(model)
    torch.testing.assert_close(score(Policy(plain)), score(policy), rtol=0, atol=1e-5)
    for name, tensor in published_weights(policy.model).items():
        assert torch.equal(plain.state_dict()[name], tensor)


def test_half_precision_keeps_the_adapters_in_float32_and_merges_within_rounding(
    model: PreTrainedModel,
):
    policy = adapted(model.bfloat16())
    assert {p.dtype for p in policy.parameters() if p.requires_grad} == {torch.float32}
    weights = published_weights(policy.model)
    assert {tensor.dtype for tensor in weights.values()} == {torch.bfloat16}


def test_the_state_dict_is_the_adapters_and_is_loaded_strictly(model: PreTrainedModel):
    twin = deepcopy(model)
    policy, other = adapted(model), adapted(twin, move=False)
    state = {key: value.clone() for key, value in policy.state_dict().items()}
    assert all("lora_" in key for key in state) and len(state) == 28
    other.load_state_dict(state)
    assert torch.equal(score(other), score(policy))
    gone = next(iter(state))
    del state[gone]
    with pytest.raises(RuntimeError, match=gone):
        other.load_state_dict(state)


def test_adapters_start_the_same_whatever_was_drawn_before(model: PreTrainedModel):
    twin = deepcopy(model)
    torch.manual_seed(5)
    one = adapted(model).state_dict()
    torch.manual_seed(5)
    drawn = torch.rand(7)
    two = adapted(twin).state_dict()
    assert all(torch.equal(one[key], two[key]) for key in one)
    torch.manual_seed(5)
    torch.rand(7)
    follows = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(torch.rand(7), drawn)
    assert torch.equal(torch.rand(3), follows), "the stream of random numbers is left alone"


def test_gradient_checkpointing_gives_the_same_gradients(tmp_path: Path):
    folder = save_tiny_policy(tmp_path)

    def gradients(policy: Policy) -> list[Tensor]:
        policy.train()
        score(policy).sum().backward()
        return [p.grad for p in policy.parameters() if p.grad is not None]

    plain, again = (
        Policy.load(folder, lora=SMALL, gradient_checkpointing=flag) for flag in (False, True)
    )
    for one, other in zip(gradients(plain), gradients(again), strict=True):
        torch.testing.assert_close(other, one)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [({"dropout": 0.1}, "dropout must be 0"), ({"r": 0}, "r of at least 1")],
)
def test_settings_that_cannot_work(settings: dict[str, float], complaint: str):
    with pytest.raises(ConfigError, match=complaint):
        LoRA(**settings)


@pytest.mark.parametrize(
    ("modules", "complaint"),
    [
        (["q_porj"], "q_porj"),
        (["lm_head"], "head or the token embedding"),
        (["embed_tokens"], "head or the token embedding"),
    ],
)
def test_layers_that_are_not_there_or_are_read_directly(
    untied_model: PreTrainedModel, modules: list[str], complaint: str
):
    with pytest.raises(PolicyError, match=complaint):
        add_adapters(untied_model, LoRA(target_modules=modules))


def test_without_peft_the_pip_line(model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sampo\[lora\]'"):
        add_adapters(model, SMALL)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_base_in_four_bits_without_a_gpu(tmp_path: Path):
    with pytest.raises(ConfigError, match="four_bit_base needs a CUDA device"):
        Policy.load(save_tiny_policy(tmp_path), lora=LoRA(four_bit_base=True))


def test_checkpoints_of_other_adapters_are_refused():
    lora = {"r": 4, "alpha": 8.0, "target_modules": "all-linear"}
    check_same_adapters({"lora": lora}, {"lora": lora | {"four_bit_base": True}})
    check_same_adapters({}, {"lora": None})
    for then, now in ((None, lora), (lora, None), (lora, lora | {"r": 8})):
        with pytest.raises(CheckpointError, match=r"Set model\.lora as it was"):
            check_same_adapters({"lora": then}, {"lora": now})
