"""Policy scores against a plain forward pass; loading and saving."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerFast

from sampo.errors import PolicyError
from sampo.models.loading import load_causal_lm, load_tokenizer
from sampo.models.policy import Policy

LENGTHS = (9, 4, 7)


@pytest.fixture
def batch() -> tuple[Tensor, Tensor, Tensor]:
    """Three right-padded rows with two spans of action tokens in the longest."""
    generator = torch.Generator().manual_seed(1)
    lengths = torch.tensor(LENGTHS)
    token_ids = torch.randint(4, 99, (3, 9), generator=generator)
    columns = torch.arange(9)
    token_ids[columns[None] >= lengths[:, None]] = 0
    mask = torch.zeros(3, 9, dtype=torch.bool)
    mask[0, 2:4] = mask[0, 7:9] = True
    mask[1, 1:4] = True
    mask[2, 5:7] = True
    return token_ids, lengths, mask


@torch.no_grad()
def plain_logprobs(model: PreTrainedModel, ids: Tensor, temperature: float = 1.0) -> Tensor:
    """Log-probabilities of ids `[L]` in one plain forward pass; entry 0 is NaN."""
    logp = (model(input_ids=ids[None]).logits[0] / temperature).log_softmax(-1)
    chosen = logp[:-1].gather(-1, ids[1:, None]).squeeze(-1)
    return torch.cat([chosen.new_full((1,), float("nan")), chosen])


@pytest.mark.parametrize("temperature", [1.0, 0.8])
def test_scores_equal_a_plain_forward_of_each_row(model, batch, temperature: float):
    token_ids, lengths, mask = batch
    scores = Policy(model)(token_ids, lengths, mask, temperature=temperature)
    assert not scores.logprobs[~mask].any() and not scores.entropy[~mask].any()
    for row, length in enumerate(LENGTHS):
        plain = plain_logprobs(model, token_ids[row, :length], temperature)
        own = mask[row, :length]
        assert torch.allclose(scores.logprobs[row, :length][own], plain[own], atol=2e-6)


def test_a_row_scores_the_same_alone_padded_and_in_any_order(model, batch):
    token_ids, lengths, mask = batch
    policy = Policy(model)
    together = policy(token_ids, lengths, mask).logprobs
    order = torch.tensor([2, 0, 1])
    shuffled = policy(token_ids[order], lengths[order], mask[order]).logprobs
    assert torch.allclose(shuffled, together[order], atol=1e-6)
    for row, length in enumerate(LENGTHS):
        cut = (slice(row, row + 1), slice(0, length))
        alone = policy(token_ids[cut], lengths[row : row + 1], mask[cut]).logprobs
        assert torch.allclose(alone, together[cut], atol=1e-6)


def test_padding_content_and_width_do_not_matter(model, batch):
    token_ids, lengths, mask = batch
    policy = Policy(model)
    expected = policy(token_ids, lengths, mask).logprobs
    wide = torch.nn.functional.pad(token_ids, (0, 5), value=57)
    wide[1, 4:] = 31
    found = policy(wide, lengths, torch.nn.functional.pad(mask, (0, 5))).logprobs
    assert found.shape == wide.shape
    assert torch.allclose(found[:, :9], expected, atol=1e-6)


def test_gradient_equals_that_of_the_plain_loss(model, batch):
    token_ids, lengths, mask = batch
    twin = deepcopy(model)
    Policy(model)(token_ids, lengths, mask).logprobs.sum().backward()
    logp = twin(input_ids=token_ids).logits.log_softmax(-1)
    chosen = logp[:, :-1].gather(-1, token_ids[:, 1:, None]).squeeze(-1)
    (chosen * mask[:, 1:]).sum().backward()
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-5)


def test_a_batch_without_action_tokens_can_be_backpropagated(model, batch):
    token_ids, lengths, mask = batch
    scores = Policy(model)(token_ids, lengths, torch.zeros_like(mask))
    scores.logprobs.sum().backward()
    assert all(p.grad is not None and not p.grad.any() for p in model.parameters())


@pytest.mark.parametrize("place", [(0, 0), (1, 4)])
def test_refuses_a_mask_on_the_first_token_or_on_padding(model, batch, place):
    token_ids, lengths, mask = batch
    mask[place] = True
    with pytest.raises(ValueError, match="first token of a row, or on padding"):
        Policy(model)(token_ids, lengths, mask)


def test_refuses_models_that_change_their_logits(untied_model):
    untied_model.config.final_logit_softcapping = 30.0
    with pytest.raises(PolicyError, match=r"final_logit_softcapping=30\.0"):
        Policy(untied_model)


def test_refuses_a_head_with_bias(untied_model):
    untied_model.lm_head = torch.nn.Linear(32, 99, bias=True)
    with pytest.raises(PolicyError, match="bias-free"):
        Policy(untied_model)


@pytest.mark.parametrize("gathered", [False, True])
def test_saved_folder_is_loaded_by_plain_transformers(model, tokenizer, tmp_path, gathered):
    policy = Policy(model)
    state = {key: value.clone() for key, value in policy.state_dict().items()}
    policy.save_pretrained(tmp_path, tokenizer, state_dict=state if gathered else None)
    assert "lm_head.weight" not in load_file(tmp_path / "model.safetensors")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    ids = torch.arange(4, 20)[None]
    with torch.no_grad():
        assert torch.equal(loaded(input_ids=ids).logits, model.eval()(input_ids=ids).logits)
    again = load_causal_lm(str(tmp_path))
    assert again.training and again.dtype == torch.float32
    assert load_tokenizer(str(tmp_path)).get_vocab() == tokenizer.get_vocab()


def test_an_untied_head_is_kept(untied_model, tokenizer, tmp_path):
    policy = Policy(untied_model)
    policy.save_pretrained(tmp_path, tokenizer, state_dict=policy.state_dict())
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert torch.equal(loaded.lm_head.weight, untied_model.lm_head.weight)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("pad_token", "no pad_token_id"),
        ("eos_token", "no eos_token_id"),
        ("chat_template", "no chat_template"),
    ],
)
def test_an_incomplete_tokenizer_is_named(
    untied_model, tokenizer: PreTrainedTokenizerFast, tmp_path, attribute: str, message: str
):
    setattr(tokenizer, attribute, None)
    Policy(untied_model).save_pretrained(tmp_path, tokenizer)
    with pytest.raises(PolicyError, match=message):
        load_tokenizer(str(tmp_path))


def test_pickled_weights_are_refused(untied_model, tokenizer, tmp_path):
    Policy(untied_model).save_pretrained(tmp_path, tokenizer)
    (tmp_path / "model.safetensors").unlink()
    torch.save(untied_model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(PolicyError, match="No model could be loaded"):
        load_causal_lm(str(tmp_path))


def test_an_unknown_dtype_gets_the_nearest(untied_model, tokenizer, tmp_path):
    Policy(untied_model).save_pretrained(tmp_path, tokenizer)
    with pytest.raises(PolicyError, match="Did you mean 'bfloat16'"):
        load_causal_lm(str(tmp_path), dtype="bfloat")
