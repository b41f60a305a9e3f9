"""The policy: a causal language model of `transformers`, scored token by token.

Wraps the model so that one forward call gives log-probabilities and entropies of the action tokens,
and writes Hugging Face folders. It does not sample (`rollout.transformers_engine` does) and knows
no loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from sampo.errors import PolicyError
from sampo.models.dropout import switch_off_dropout
from sampo.models.loading import load_causal_lm
from sampo.models.logprobs import TokenScores, token_scores
from sampo.models.lora import LoRA, add_adapters, keep_only_trained
from sampo.models.packed_attention import PACKED
from sampo.models.packed_rows import PackedRows, common_beginning
from sampo.models.publishing import write_model
from sampo.models.value_head import ValueHead

_LOGIT_CHANGES = ("final_logit_softcapping", "logits_scaling", "logit_scale", "lm_head_multiplier")
"""Config entries by which a model changes its logits after the head; we would miss them."""


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
        self.packed = False
        """Whether rows are packed in a forward pass, and not padded."""
        self.compiled = False
        """Whether layers are compiled for a forward pass; `models.compilation` does it."""
        self.padded_attention = model.config._attn_implementation or "eager"
        """Attention of padded rows: the one that the model was loaded with."""
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
        lora: LoRA | None = None,
    ) -> Policy:
        """Load a policy.

        Args:
            source: see `resolve_policy`.
            dtype: see `load_causal_lm`.
            attn_implementation: see `load_causal_lm`.
            gradient_checkpointing: recompute activations in the backward pass, to save memory.
            lora: adapters to train instead of the weights.
        """
        model = load_causal_lm(
            source,
            dtype=dtype,
            attn_implementation=attn_implementation,
            four_bit=lora is not None and lora.four_bit_base,
        )
        switch_off_dropout(model)
        if gradient_checkpointing:
            # The old name is deprecated, and the oldest release that we support knows no other.
            new = getattr(model, "activation_checkpointing_enable", None)
            (new or model.gradient_checkpointing_enable)()
        policy = cls(model)
        if lora is not None:
            add_adapters(model, lora)
            keep_only_trained(policy)
        return policy

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Policy:
        """Load what a module's hyper-parameters say."""
        return cls.load(
            options["policy"],
            dtype=options["dtype"],
            attn_implementation=options["attn_implementation"],
            gradient_checkpointing=options["gradient_checkpointing"],
            lora=LoRA.of(options["lora"]),
        )

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
        rows, columns = action_mask.nonzero(as_tuple=True)
        if bool((columns == 0).any()) or bool((columns >= lengths[rows]).any()):
            raise ValueError("action_mask is true on the first token of a row, or on padding.")
        if self.packed and len(lengths):
            ours = self.model.config._attn_implementation == PACKED
            shared = common_beginning(token_ids, lengths, action_mask) if ours else 0
            packed = PackedRows.of(token_ids, lengths, shared)
            before = self._packed_states(packed)[packed.offsets[rows] + columns - 1]
        else:
            width = max(int(lengths.max()), 1) if len(lengths) else 1
            before = self.hidden_states(token_ids[:, :width])[rows, columns - 1]
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

    def _packed_states(self, rows: PackedRows) -> Tensor:
        """Return the last hidden states `[N, H]` of packed rows."""
        output = self.model.base_model(
            input_ids=rows.token_ids,
            position_ids=rows.positions,
            use_cache=False,
            **rows.attention,
        )
        return output.last_hidden_state[0]

    def pack(self, attention: str) -> None:
        """Put rows one behind the other from now on; `models.packing` decides whether to.

        Args:
            attention: name of an attention of transformers that knows of packed rows.
        """
        self.packed = True
        self.model.set_attn_implementation(attention)

    def unpack(self) -> None:
        """Pad rows from now on, under the attention that the model was loaded with."""
        self.packed = False
        self.model.set_attn_implementation(self.padded_attention)

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
        inner = None
        if state_dict is not None:
            inner = {
                key.removeprefix("model."): value
                for key, value in state_dict.items()
                if key.startswith("model.")
            }
        write_model(self.model, folder, inner)
        tokenizer.save_pretrained(folder)


def _spread(values: Tensor, mask: Tensor) -> Tensor:
    """Return `values` `[N]` at the true places of `mask` `[B, L]`, zero elsewhere."""
    return values.new_zeros(mask.shape).masked_scatter(mask, values)
