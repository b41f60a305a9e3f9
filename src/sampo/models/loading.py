"""Models and tokenizers out of folders and hubs, and what is refused of them."""

from __future__ import annotations

from typing import Any

import torch
from safetensors import SafetensorError
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from sampo.errors import ConfigError, MissingDependencyError, PolicyError, did_you_mean
from sampo.models.sources import resolve_policy


def load_tokenizer(source: str) -> PreTrainedTokenizerBase:
    """Load a tokenizer that can hold a conversation.

    Args:
        source: see `resolve_policy`.

    Raises:
        PolicyError: it cannot be loaded, or lacks a pad token, an end token or a chat template.
    """
    path = resolve_policy(source)
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise PolicyError(
            f"No tokenizer could be loaded from {path!r}: {_in_short(error)}"
        ) from error
    if not tokenizer("x", add_special_tokens=False)["input_ids"]:
        raise PolicyError(
            f"{path!r} holds no tokenizer (it encodes text as nothing). Save one there with "
            "tokenizer.save_pretrained."
        )
    remedies = {
        "pad_token_id": "set tokenizer.pad_token (the end-of-text token serves)",
        "eos_token_id": "set tokenizer.eos_token to the token that ends a reply",
        "chat_template": "use an instruct checkpoint, or set tokenizer.chat_template",
    }
    values = (tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.chat_template)
    for (name, remedy), value in zip(remedies.items(), values, strict=True):
        if value is None:
            raise PolicyError(
                f"The tokenizer in {path!r} has no {name}, which episodes need: {remedy}, save it "
                "with save_pretrained and load that folder."
            )
    return tokenizer


def load_causal_lm(
    source: str,
    *,
    dtype: str = "float32",
    attn_implementation: str | None = None,
    four_bit: bool = False,
) -> PreTrainedModel:
    """Load a causal language model in training mode, from safetensors only.

    Args:
        source: see `resolve_policy`.
        dtype: of the weights: `float32`, `bfloat16` or `float16`. On CPUs without bf16 units
            half precision was measured about three times slower than `float32`.
        attn_implementation: `sdpa`, `eager`, `flash_attention_2`, ...; None leaves the choice to
            transformers.
        four_bit: quantise the linear layers; see `LoRA.four_bit_base`.

    Raises:
        PolicyError: it cannot be loaded.
    """
    path = resolve_policy(source)
    if dtype not in (dtypes := ("float32", "bfloat16", "float16")):
        raise PolicyError(
            f"Unknown dtype {dtype!r}.{did_you_mean(dtype, dtypes)} Known: {', '.join(dtypes)}."
        )
    options: dict[str, Any] = {"dtype": getattr(torch, dtype), "use_safetensors": True}
    if four_bit:
        options |= _four_bit_options()
    if attn_implementation is not None:
        options["attn_implementation"] = attn_implementation
    try:
        model = AutoModelForCausalLM.from_pretrained(path, trust_remote_code=False, **options)
    except (OSError, ValueError, ImportError, SafetensorError) as error:
        raise PolicyError(f"No model could be loaded from {path!r}: {_in_short(error)}") from error
    return model.train()


def _in_short(error: Exception) -> str:
    """Return the beginning of what transformers says, which can be a page."""
    words = " ".join(str(error).split())
    return words if len(words) <= 300 else f"{words[:300]}..."


def _four_bit_options() -> dict[str, Any]:
    """Return the options of `from_pretrained` by which the base is held in 4 bits.

    Raises:
        ConfigError: there is no CUDA device.
        MissingDependencyError: bitsandbytes is not installed.
    """
    if not torch.cuda.is_available():
        raise ConfigError(
            "model.lora.four_bit_base needs a CUDA device, and torch finds none. Leave it out: the "
            "base then stays in model.dtype."
        )
    try:
        import bitsandbytes  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingDependencyError(
            "model.lora.four_bit_base needs bitsandbytes: pip install bitsandbytes"
        ) from error
    from transformers import BitsAndBytesConfig

    settings = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
    return {"quantization_config": settings, "device_map": {"": torch.cuda.current_device()}}
