"""Low-rank adapters (LoRA) on a policy, by `peft`: the settings, and what differs because of them.

The model inside a policy stays the plain transformers class; its linear layers get adapters. With
the adapters off it is the policy that training started from, so a reference costs no memory. What
leaves the trainer (exports, weights for an engine) has the adapters merged and the base model's
names; nothing outside needs to know of them.

`peft` is an extra (`sampo[lora]`) and imported only where adapters are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from transformers import PreTrainedModel

from sampo.errors import CheckpointError, ConfigError, MissingDependencyError, PolicyError

_ADAPTER = "default"
_BASE = ".base_layer."
_PART = ".lora_"


@dataclass(frozen=True, kw_only=True)
class LoRA:
    """Train low-rank adapters instead of the weights themselves.

    A linear layer `W` computes `W x + (alpha / r) B A x`; `A` starts random and `B` at zero, so
    that the policy starts as its base. Only `A` and `B` are trained, in float32.

    References:
        Hu et al., LoRA: Low-Rank Adaptation of Large Language Models,
        https://arxiv.org/abs/2106.09685
    """

    r: int = 16
    """Rank of the adapters."""
    alpha: float = 32.0
    """Scale of what they add, as `alpha / r`."""
    dropout: float = 0.0
    """Always 0: dropout would move importance ratios away from 1."""
    target_modules: str | list[str] = "all-linear"
    """Which linear layers get one: `all-linear` (all but the head), or ends of their names, such
    as `[q_proj, v_proj]`."""
    four_bit_base: bool = False
    """Whether the frozen base is held in 4 bits (QLoRA), by bitsandbytes on a CUDA device."""

    @classmethod
    def of(cls, settings: Mapping[str, Any] | None) -> LoRA | None:
        """Return what a module's hyper-parameters say."""
        return None if settings is None else cls(**settings)

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if self.r < 1 or not self.alpha > 0:
            raise ConfigError(
                f"model.lora needs r of at least 1 and alpha above 0, got {self.r}, {self.alpha}."
            )
        if self.dropout != 0:
            raise ConfigError(
                f"model.lora.dropout must be 0, got {self.dropout}: the policy that is trained and "
                "the one that is sampled have to be the same network."
            )


def add_adapters(model: PreTrainedModel, lora: LoRA) -> None:
    """Freeze a model and give its linear layers adapters.

    They start the same on all ranks, whatever random numbers were drawn before.

    Raises:
        MissingDependencyError: peft is not installed.
        PolicyError: no layer has such a name, or the head or the embedding would get an adapter.
    """
    peft = _peft()
    config = peft.LoraConfig(
        r=lora.r,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=lora.target_modules,
        bias="none",
    )
    with torch.random.fork_rng():
        torch.manual_seed(_common_seed())
        try:
            peft.inject_adapter_in_model(config, model, adapter_name=_ADAPTER)
        except ValueError as error:
            raise PolicyError(
                f"model.lora.target_modules={lora.target_modules!r} does not fit "
                f"{type(model).__name__}: {error}"
            ) from error
    for owner in (model.get_output_embeddings(), model.get_input_embeddings()):
        if owner is not None and has_adapters(owner):
            raise PolicyError(
                "model.lora.target_modules names the head or the token embedding, whose weights "
                "sampo reads directly. Name layers of the decoder, or take all-linear."
            )
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()


@contextmanager
def adapters_off(model: nn.Module) -> Iterator[None]:
    """Compute with the base model alone; for passes without a gradient."""
    layers = [layer for _, layer in _layers(model)]
    for layer in layers:
        layer.enable_adapters(False)
    try:
        yield
    finally:
        for layer in layers:
            layer.enable_adapters(True)


def merged_weights(
    model: PreTrainedModel, state_dict: Mapping[str, Tensor] | None = None
) -> Iterator[tuple[str, Tensor]]:
    """Yield the base model's names and weights, adapters merged, one tensor at a time.

    Sums are made in float32 and rounded to the dtype of the base once. A base in 4 bits comes out
    in its compute dtype.

    Args:
        model: with or without adapters.
        state_dict: the model's gathered full state dict, where it is sharded.
    """
    own = state_dict is None
    state: Mapping[str, Tensor] = model.state_dict() if state_dict is None else state_dict
    if not has_adapters(model):
        yield from state.items()
        return
    from peft.utils.integrations import dequantize_module_weight

    layers = dict(_layers(model))
    for key, tensor in state.items():
        owner, _, rest = key.partition(_BASE)
        if rest == "weight":
            layer = layers[owner]
            base = dequantize_module_weight(layer.get_base_layer()) if own else tensor
            up, down = (state[f"{owner}.lora_{side}.{_ADAPTER}.weight"] for side in "BA")
            delta = layer.scaling[_ADAPTER] * (up.float() @ down.float())
            yield f"{owner}.weight", (base.detach().float() + delta).to(base.dtype)
        elif rest == "bias":
            yield f"{owner}.bias", tensor
        elif not rest and _PART not in key:
            yield key, tensor


def has_adapters(model: nn.Module) -> bool:
    """Return whether `add_adapters` was here."""
    return any(_PART in f".{name}" for name, _ in model.named_parameters())


def keep_only_trained(policy: nn.Module) -> None:
    """Let a policy's state dict hold what is trained, and be loaded from one that holds no more.

    The base does not change, and comes from where it was loaded; checkpoints stay small.
    """
    policy.register_state_dict_post_hook(_drop_frozen)
    policy.register_load_state_dict_post_hook(_miss_no_frozen)


def check_same_adapters(saved: Mapping[str, Any], present: Mapping[str, Any]) -> None:
    """Compare the hyper-parameters of a checkpoint's module with those of the present one.

    Raises:
        CheckpointError: one trains adapters that the other has not.
    """
    then, now = saved.get("lora"), present["lora"]
    if _shape(then) != _shape(now):
        raise CheckpointError(
            f"The checkpoint was written with model.lora={then}, and now it is {now}, so its "
            "weights do not fit. Set model.lora as it was, or start from the exported policy."
        )


def _shape(lora: Mapping[str, Any] | None) -> tuple[Any, ...] | None:
    return None if lora is None else (lora["r"], lora["alpha"], lora["target_modules"])


def _drop_frozen(
    policy: nn.Module, state_dict: dict[str, Any], prefix: str, metadata: dict[str, Any]
) -> None:
    for key in [key for key in state_dict if key.startswith(prefix) and not _trained(key)]:
        del state_dict[key]


def _miss_no_frozen(policy: nn.Module, keys: Any) -> None:
    keys.missing_keys[:] = [key for key in keys.missing_keys if _trained(key)]


def _trained(key: str) -> bool:
    return _PART in key or "value_head." in key


def _layers(model: nn.Module) -> Iterator[tuple[str, Any]]:
    from peft.tuners.lora import LoraLayer

    for name, module in model.named_modules():
        if isinstance(module, LoraLayer):
            yield name, module


def _peft() -> ModuleType:
    try:
        import peft
    except ImportError as error:
        raise MissingDependencyError(
            "model.lora needs peft: pip install 'sampo[lora]' (or pip install peft)"
        ) from error
    return peft


def _common_seed() -> int:
    """Return this run's seed, the first rank's where there are several."""
    seeds = [torch.initial_seed()]
    if dist.is_available() and dist.is_initialized():
        dist.broadcast_object_list(seeds)
    return seeds[0]
