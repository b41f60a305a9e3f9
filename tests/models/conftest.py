"""Tiny random models and a tokenizer of single characters, made in memory: no network."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
)

_SPECIAL = ("<pad>", "<start>", "<end>", "<unk>")
_TEMPLATE = (
    "{% for m in messages %}<start>{{ m['role'] }}\n{{ m['content'] }}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}<start>assistant\n{% endif %}"
)


def make_tokenizer() -> PreTrainedTokenizerFast:
    """One token per printable character, and the four special ones."""
    letters = [*_SPECIAL, *(chr(code) for code in range(32, 127)), "\n"]
    raw = Tokenizer(models.WordLevel({s: i for i, s in enumerate(letters)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), behavior="isolated")
    raw.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", eos_token="<end>", unk_token="<unk>"
    )
    tokenizer.add_special_tokens({"additional_special_tokens": ["<start>"]})
    tokenizer.chat_template = _TEMPLATE
    return tokenizer


def make_model(arch: str = "qwen3", *, tied: bool = True) -> PreTrainedModel:
    """Two layers, grouped heads, random weights large enough for distinct distributions."""
    torch.manual_seed(0)
    config_class, model_class = {
        "qwen3": (Qwen3Config, Qwen3ForCausalLM),
        "llama": (LlamaConfig, LlamaForCausalLM),
    }[arch]
    config = config_class(
        vocab_size=len(make_tokenizer()),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=512,
        tie_word_embeddings=tied,
        initializer_range=0.2,
        pad_token_id=0,
        eos_token_id=2,
        bos_token_id=None,
    )
    return model_class(config)


@pytest.fixture(params=["qwen3", "llama"])
def model(request: pytest.FixtureRequest) -> PreTrainedModel:
    return make_model(request.param)


@pytest.fixture
def untied_model() -> PreTrainedModel:
    return make_model(tied=False)


@pytest.fixture
def tokenizer() -> PreTrainedTokenizerFast:
    return make_tokenizer()
