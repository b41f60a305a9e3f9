"""Random models and ragged rows for the benchmarks of the update: bench_update, bench_scaling."""

from __future__ import annotations

from typing import Any

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from sampo.batch import RolloutBatch
from sampo.models.policy import Policy

HEADS = "num_hidden_layers num_attention_heads num_key_value_heads head_dim vocab_size"
SHAPES = {  # hidden, intermediate, then HEADS
    "small": (256, 768, 4, 4, 2, 64, 32768),
    "qwen3-0.6b": (1024, 3072, 28, 16, 8, 128, 151936),
}
PEAK_TFLOPS = {"H100": 989, "H200": 989, "B200": 2250, "A100": 312, "L40S": 362}  # bf16, dense


def make_policy(shape: str, device: str, vocabulary: int | None = None) -> Policy:
    """Make a random model, in bfloat16 on a GPU."""
    torch.manual_seed(0)
    names = ["hidden_size", "intermediate_size", *HEADS.split()]
    settings: dict[str, Any] = dict(zip(names, SHAPES[shape], strict=True))
    settings["vocab_size"] = vocabulary or settings["vocab_size"]
    config = Qwen3Config(tie_word_embeddings=True, max_position_embeddings=32768, **settings)
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    with torch.device(device):
        model: Any = Qwen3ForCausalLM(config)
        return Policy(model.to(dtype))


def make_batch(rows: int, turn: int, vocabulary: int, share: float = 0.4) -> RolloutBatch:
    """Make transcripts of 2 to 15 turns in random order, a share of each turn being actions."""
    generator = torch.Generator().manual_seed(0)
    turns = 2 + torch.randperm(rows, generator=generator) * 14 // rows
    lengths = turns * turn
    columns = torch.arange(int(lengths.max()))[None]
    mask = (columns % turn >= turn * (1 - share)) & (columns < lengths[:, None])
    first_turn, none = turns.cumsum(0) - turns, torch.tensor(-1)
    return RolloutBatch(
        token_ids=torch.randint(vocabulary, mask.shape, generator=generator),
        lengths=lengths,
        action_mask=mask,
        turn_ids=torch.where(mask, first_turn[:, None] + columns // turn, none),
        episode_ids=torch.where(mask, torch.arange(rows)[:, None], none),
        advantages=torch.randn(mask.shape, generator=generator) * mask,
        sampling_logprobs=torch.zeros(mask.shape),
        policy_version=0,
    )


def needed_flops(policy: Policy, batch: RolloutBatch) -> float:
    """Return what forward and backward of a batch take at least: `6 x weights x tokens`, etc."""
    config, lengths = policy.model.config, batch.lengths.double()
    head = config.vocab_size * config.hidden_size
    decoder = sum(p.numel() for p in policy.model.base_model.parameters()) - head
    attention = config.num_hidden_layers * config.num_attention_heads * config.head_dim
    sums = decoder * lengths.sum() + head * batch.action_mask.sum() + attention * lengths @ lengths
    return 6.0 * float(sums)


def peak_tflops(device: str) -> float | None:
    """Return what a GPU of this name does at most in bfloat16; None: it is not known here."""
    return next((tera for name, tera in PEAK_TFLOPS.items() if name in device), None)
