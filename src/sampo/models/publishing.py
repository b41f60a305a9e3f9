"""A model on its way out of the trainer: a Hugging Face folder with the names that others know.

Used for exports and for the weights that engines load. Adapters are merged, and a base in 4 bits
is written in its compute dtype, so that whoever reads the folder needs neither `peft` nor us.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedModel

from sampo.models.lora import has_adapters, merged_weights


def published_weights(
    model: PreTrainedModel, state_dict: Mapping[str, Tensor] | None = None
) -> dict[str, Tensor]:
    """Return name and tensor of all that a folder of this model holds.

    Without adapters the tensors are the model's own; with them, adapted layers are new ones.

    Args:
        model: what is trained.
        state_dict: its gathered full state dict, where it is sharded.
    """
    weights = dict(merged_weights(model, state_dict))
    if model.config.tie_word_embeddings:
        for key in _tied_keys(model):
            weights.pop(key, None)
    return weights


def write_model(
    model: PreTrainedModel, folder: str | Path, state_dict: Mapping[str, Tensor] | None = None
) -> None:
    """Write config and weights where plain transformers and vLLM load them from.

    Args:
        model: what is trained.
        folder: made if need be.
        state_dict: the model's gathered full state dict, where it is sharded.
    """
    if model.generation_config is not None:  # policies sample; some servers are greedy unless told
        model.generation_config.do_sample = True
    if not has_adapters(model):
        weights = None if state_dict is None else published_weights(model, state_dict)
        model.save_pretrained(folder, state_dict=weights)
        return
    config = deepcopy(model.config)
    if getattr(config, "quantization_config", None) is not None:
        delattr(config, "quantization_config")
    with torch.device("meta"):  # the class and its config only; the weights are handed over
        plain = type(model)(config)
    plain.generation_config = model.generation_config
    plain.save_pretrained(folder, state_dict=published_weights(model, state_dict))


def _tied_keys(model: PreTrainedModel) -> list[str]:
    """Return the names of the parameters that are another one under a second name."""
    unique = {name for name, _ in model.named_parameters()}
    every = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    return sorted(every - unique)
