"""Nothing random is left in a model."""

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

from sampo.models.dropout import switch_off_dropout


def test_modules_and_numbers_are_set_to_zero():
    config = LlamaConfig(
        vocab_size=11,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        attention_dropout=0.5,
    )
    model = nn.Sequential(nn.Dropout(0.5))
    model.append(LlamaForCausalLM(config))
    switch_off_dropout(model)
    model.train()
    ones = torch.ones(1000)
    assert torch.equal(model[0](ones), ones)
    ids = torch.arange(10)[None]
    assert torch.equal(model[1](ids).logits, model[1](ids).logits)
