"""The policy: a causal language model of `transformers`, scored token by token.

Loads checkpoints and tokenizers, wraps the model so that one forward call gives log-probabilities
and entropies of the action tokens, and writes Hugging Face folders. It does not sample
(`rollout.transformers_engine` does) and knows no loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from sampo.errors import PolicyError, did_you_mean
from sampo.models.dropout import switch_off_dropout
from sampo.models.logprobs import TokenScores, token_scores
from sampo.models.sources import resolve_policy
from sampo.models.value_head import ValueHead

_LOGIT_CHANGES = ("final_logit_softcapping", "logits_scaling", "logit_scale", "lm_head_multiplier")
"""Config entries by which a model changes its logits after the head; we would miss them."""


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
        raise PolicyError(f"No tokenizer could be loaded from {path!r}: {error}") from error
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
    source: str, *, dtype: str = "float32", attn_implementation: str | None = None
) -> PreTrainedModel:
    """Load a causal language model in training mode, from safetensors only.

    Args:
        source: see `resolve_policy`.
        dtype: of the weights: `float32`, `bfloat16` or `float16`. On CPUs without bf16 units
            half precision was measured about three times slower than `float32`.
        attn_implementation: `sdpa`, `eager`, `flash_attention_2`, ...; None leaves the choice to
            transformers.

    Raises:
        PolicyError: it cannot be loaded.
    """
    path = resolve_policy(source)
    if dtype not in (dtypes := ("float32", "bfloat16", "float16")):
        raise PolicyError(
            f"Unknown dtype {dtype!r}.{did_you_mean(dtype, dtypes)} Known: {', '.join(dtypes)}."
        )
    options: dict[str, Any] = {"dtype": getattr(torch, dtype), "use_safetensors": True}
    if attn_implementation is not None:
        options["attn_implementation"] = attn_implementation
    try:
        model = AutoModelForCausalLM.from_pretrained(path, trust_remote_code=False, **options)
    except (OSError, ValueError, ImportError, SafetensorError) as error:
        raise PolicyError(f"No model could be loaded from {path!r}: {error}") from error
    return model.train()


class Policy(nn.Module):
    """A causal language model whose forward pass scores action tokens.

    This module, not the model inside, is what gets sharded: the head's weight is read inside
    `forward`, where a sharding root has gathered it.

    Args:
        model: a causal LM with a bias-free head and unchanged logits.

    Raises:
        PolicyError: the model's logits are not `hidden @ weight.T`.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model
        self.value_head: ValueHead | None = None
        head = model.get_output_embeddings()
        name = type(model).__name__
        if not isinstance(head, nn.Linear) or head.bias is not None:
            raise PolicyError(f"{name} has no bias-free linear head, which sampo needs.")
        settings = model.config.get_text_config().to_dict()
        for key in _LOGIT_CHANGES:
            if settings.get(key) not in (None, 1, 1.0):
                raise PolicyError(
                    f"{name} sets {key}={settings[key]}, which sampo does not apply, so its "
                    f"log-probabilities would be wrong. Use a model without {key}."
                )

    @classmethod
    def load(
        cls,
        source: str,
        *,
        dtype: str = "float32",
        attn_implementation: str | None = None,
        gradient_checkpointing: bool = False,
    ) -> Policy:
        """Load a policy.

        Args:
            source: see `resolve_policy`.
            dtype: see `load_causal_lm`.
            attn_implementation: see `load_causal_lm`.
            gradient_checkpointing: recompute activations in the backward pass, to save memory.
        """
        model = load_causal_lm(source, dtype=dtype, attn_implementation=attn_implementation)
        switch_off_dropout(model)
        if gradient_checkpointing:
            model.gradient_checkpointing_enable()
        return cls(model)

    def forward(
        self,
        token_ids: Tensor,
        lengths: Tensor,
        action_mask: Tensor,
        *,
        temperature: float = 1.0,
        with_entropy: bool = True,
    ) -> TokenScores:
        """Score the action tokens of right-padded rows.

        Rows start at column 0 and attention is causal, so no token sees padding and no attention
        mask is needed. The head runs on the positions before action tokens only.

        Args:
            token_ids: int64 `[B, L]`.
            lengths: int64 `[B]`, tokens of each row without padding.
            action_mask: bool `[B, L]`, never true in column 0 (nothing precedes that token).
            temperature: above 0; scores are those of the tempered distribution.
            with_entropy: whether to compute entropies too.

        Returns:
            Both `[B, L]`, aligned with `token_ids`, zero off the mask.
        """
        width = max(int(lengths.max()), 1) if len(lengths) else 1
        hidden = self.hidden_states(token_ids[:, :width])
        rows, columns = action_mask.nonzero(as_tuple=True)
        if bool((columns == 0).any()) or bool((columns >= lengths[rows]).any()):
            raise ValueError("action_mask is true on the first token of a row, or on padding.")
        before = hidden[rows, columns - 1]
        scores = token_scores(
            before,
            self.head_weight,
            token_ids[rows, columns],
            temperature=temperature,
            with_entropy=with_entropy,
        )
        entropy = None if scores.entropy is None else _spread(scores.entropy, action_mask)
        values = None if self.value_head is None else _spread(self.value_head(before), action_mask)
        return TokenScores(_spread(scores.logprobs, action_mask), entropy, values)

    def add_value_head(self) -> None:
        """Let `forward` predict values too; call it before the policy is sharded."""
        self.value_head = ValueHead(self.head_weight.shape[1]).to(self.head_weight.device)

    def hidden_states(self, token_ids: Tensor) -> Tensor:
        """Return the last hidden states `[B, L, H]` of right-padded rows (int64 `[B, L]`)."""
        positions = torch.arange(token_ids.shape[1], device=token_ids.device)[None]
        output = self.model.base_model(
            input_ids=token_ids,
            position_ids=positions.expand(token_ids.shape[0], -1),
            use_cache=False,
        )
        return output.last_hidden_state

    @property
    def head_weight(self) -> Tensor:
        """The language-model head `[V, H]`."""
        head = self.model.get_output_embeddings()
        assert isinstance(head, nn.Linear)
        return head.weight

    def save_pretrained(
        self,
        folder: str | Path,
        tokenizer: PreTrainedTokenizerBase,
        *,
        state_dict: Mapping[str, Tensor] | None = None,
    ) -> None:
        """Write a Hugging Face folder that plain transformers loads.

        Args:
            folder: made if need be.
            tokenizer: written beside the model.
            state_dict: this module's gathered full state dict, where the policy is sharded.
        """
        weights = None
        if state_dict is not None:
            weights = {
                key.removeprefix("model."): value
                for key, value in state_dict.items()
                if key.startswith("model.")
            }
            if self.model.config.tie_word_embeddings:
                for key in self._tied_keys():
                    weights.pop(key, None)
        self.model.save_pretrained(folder, state_dict=weights)
        tokenizer.save_pretrained(folder)

    def _tied_keys(self) -> list[str]:
        """Return the names of the parameters that are another one under a second name."""
        unique = {name for name, _ in self.model.named_parameters()}
        every = {name for name, _ in self.model.named_parameters(remove_duplicate=False)}
        return sorted(every - unique)


def _spread(values: Tensor, mask: Tensor) -> Tensor:
    """Return `values` `[N]` at the true places of `mask` `[B, L]`, zero elsewhere."""
    return values.new_zeros(mask.shape).masked_scatter(mask, values)
