"""The policy as a sampling engine sees it: token ids in, next-token logits and cached keys out.

Forward passes only; which tokens are fed and what is sampled is the engine's business.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig

from sampo.errors import EngineError
from sampo.models.compilation import as_written
from sampo.models.packed_attention import PACKED
from sampo.models.policy import Policy
from sampo.rollout.kv_arena import KeyValueArena
from sampo.rollout.slot_table import Row


class LiveModel:
    """A policy whose weights are used where they are.

    Args:
        policy: a `Policy`.
        version: number of weight syncs.
        context_length: most tokens of a row; None: what the model was made for.

    Raises:
        EngineError: the model cannot be sampled with explicit attention masks.
    """

    def __init__(self, policy: nn.Module, version: int, context_length: int | None) -> None:
        if not isinstance(policy, Policy):
            raise EngineError(
                f"TransformersEngine samples from a sampo Policy, not {type(policy).__name__}. "
                "Wrap the model: Policy(model)."
            )
        config = policy.model.config.get_text_config()
        _check_attention(type(policy.model).__name__, config)
        longest = config.max_position_embeddings
        if (context_length or 0) > longest:
            raise EngineError(
                f"context_length {context_length} exceeds the model's {longest} positions."
            )
        self.version = version
        self.context_length: int = context_length or longest
        self.arena = KeyValueArena(config.num_hidden_layers)
        """Keys and values made with these weights."""
        self._policy = policy
        self._decoder = policy.model.base_model
        # Renamed within the versions of transformers that we support.
        names = inspect.signature(self._decoder.forward).parameters
        self._cache_argument = "cache" if "cache" in names else "past_key_values"
        self._writes = self._count_writes()

    @property
    def end_ids(self) -> frozenset[int]:
        """The model's own end-of-sequence tokens."""
        generation = self._policy.model.generation_config
        ids = None if generation is None else generation.eos_token_id
        return frozenset(ids if isinstance(ids, list) else [] if ids is None else [ids])

    @contextmanager
    def sampling(self) -> Iterator[None]:
        """Hold the policy in evaluation mode, without autograd.

        Raises:
            EngineError: the weights were written to since the sync, so that the cached keys and
                values are of weights that are no more.
        """
        if self._count_writes() != self._writes:
            raise EngineError(
                f"The policy's weights changed after they were synced as version {self.version}. "
                "Call sync_weights after every update."
            )
        training = self._policy.training
        self._policy.eval()
        try:
            with torch.inference_mode(), as_written(self._policy):
                yield
        finally:
            self._policy.train(training)

    def next_logits(self, rows: Sequence[Row]) -> Tensor:
        """Feed what is not cached of some rows in consecutive slots.

        Returns:
            `[B, V]`, the logits after the last token of each row.
        """
        device = self._policy.head_weight.device
        news = [row.ids[row.cached :] for row in rows]
        width = max(map(len, news))
        padded = [new + [0] * (width - len(new)) for new in news]
        starts = torch.tensor([row.cached for row in rows], device=device)
        positions, visible = self.arena.open_window(rows[0].slot, starts, width)
        output = self._decoder(
            input_ids=torch.tensor(padded, device=device),
            attention_mask=self._additive(visible),
            position_ids=positions,
            use_cache=True,
            **{self._cache_argument: self.arena.cache},
        )
        last = torch.tensor([len(new) - 1 for new in news], device=device)
        hidden = output.last_hidden_state[torch.arange(len(rows), device=device), last]
        for row in rows:
            row.cached = len(row.ids)
        return hidden @ self._policy.head_weight.t()

    def _additive(self, visible: Tensor) -> Tensor:
        """Return the attention mask that both `sdpa` and `eager` add to their scores."""
        dtype = self._policy.model.dtype
        mask = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
        return mask.masked_fill_(~visible, torch.finfo(dtype).min)

    def _count_writes(self) -> int:
        return sum(parameter._version for parameter in self._policy.parameters())


def _check_attention(name: str, config: PreTrainedConfig) -> None:
    """Refuse models that the arena's masks would sample wrongly.

    Raises:
        EngineError: says which setting is the cause.
    """
    settings = config.to_dict()
    other_layers = set(settings.get("layer_types") or ()) - {"full_attention"}
    if other_layers or settings.get("sliding_window"):
        raise EngineError(
            f"TransformersEngine keeps keys and values of full attention only, and {name} has "
            f"other layers ({', '.join(sorted(other_layers)) or 'sliding_window'}). "
            "Use another engine or model."
        )
    if config._attn_implementation not in ("sdpa", "eager", PACKED):
        raise EngineError(
            f"TransformersEngine needs explicit attention masks, which "
            f"{config._attn_implementation!r} does not take. Load the model with "
            "attn_implementation: sdpa."
        )
