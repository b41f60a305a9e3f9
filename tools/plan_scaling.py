"""The plan of docs/scaling.md: memory, tokens/s and hours of the paper's run on several GPUs.

    python tools/plan_scaling.py                     # the tables of the page
    python tools/plan_scaling.py --turns 30 --mfu 0.25

Arithmetic only; nothing is run. Shapes of models and data sheets of GPUs are facts, the batch is
the paper's (ALFWorld, Table S1). What is marked "assumed" was not measured: no GPU was at hand.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

GB = 1e9


@dataclass(frozen=True)
class Model:
    """Shape of a Qwen3, from its config.json."""

    name: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    tied: bool
    vocabulary: int = 151936
    head_dim: int = 128

    @property
    def decoder(self) -> int:
        """Weights that every token passes: attention and MLP."""
        attention = self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)
        return self.layers * (attention + 3 * self.hidden * self.intermediate)

    @property
    def head(self) -> int:
        """Weights of the head; those of the embedding are as many, and the same if tied."""
        return self.vocabulary * self.hidden

    @property
    def size(self) -> int:
        """All weights."""
        return self.decoder + self.head * (1 if self.tied else 2)


MODELS = [
    Model("Qwen3-4B", 36, 2560, 9728, 32, 8, tied=True),
    Model("Qwen3-8B", 36, 4096, 12288, 32, 8, tied=False),
]


def memory(model: Model, gpus: int, args: argparse.Namespace) -> dict[str, float]:
    """Return GB per GPU during an update: fp32 masters under bf16-mixed, FSDP2 over all GPUs."""
    shard, tokens = model.size / gpus / GB, args.micro_batch_tokens
    layer = model.decoder / model.layers
    kept = tokens * model.hidden * 2 * model.layers  # one bf16 hidden state per layer
    # Inside one layer, recomputed: in and out of norms, q, k, v, attention, and the MLP thrice. At
    # its peak the backward pass holds three times that: measured, tools/bench_scaling.py, 57 kB per
    # token where this line counts 18 (fp32, 256 wide).
    inside = 3 * tokens * 2 * (6 * model.hidden + 3 * model.intermediate + 3 * model.heads * 128)
    gathered = 2 * 2 * layer  # this layer's weights and the next one's, bf16
    # The head: gathered in bf16, its gradient in fp32, and two chunks of 256 tokens' logits.
    head = model.head * (2 + 4) + 2 * 256 * model.vocabulary * 4
    return {
        "weights": 4 * shard,
        "gradients": 4 * shard,
        "Adam": 8 * shard,
        "reference": 4 * shard,
        "activations": (kept + inside) / GB,
        "gathered": (gathered + head) / GB,
        "engine": 2 * model.size / GB,
    }


def seconds(model: Model, gpus: int, args: argparse.Namespace) -> dict[str, float]:
    """Return the parts of an update's wall time."""
    episodes, rows = 128, 128 * args.turns
    trained = rows * (args.prompt + args.reply)
    # 2 FLOP per weight: old 1, reference 1, training 3, activations recomputed 1; the head runs on
    # the tokens of replies only, and its logits are made again once.
    flops = 2 * 6 * (model.decoder * trained + model.head * rows * args.reply)
    compute = flops / (gpus * args.tflops * 1e12 * args.mfu)
    # Per pass: weights gathered in bf16, twice when training, whose gradients are reduced in fp32.
    part = args.micro_batch_tokens * gpus
    steps = math.ceil(rows / 256)
    training = steps * math.ceil(trained / steps / part) * (2 * 2 + 4)
    scoring = 2 * math.ceil(trained / part) * 2
    link = args.link if gpus <= 8 else args.network
    exchange = (training + scoring) * model.size / (link * GB)
    # Rollout: an episode is serial. A decoding step reads all weights once, whatever the batch; a
    # failing episode takes all 50 turns, and a round lasts as long as its longest episode.
    step = 2 * (model.decoder + model.head) / (args.bandwidth * 1e12 * args.bandwidth_use)
    # A turn also feeds its prompt and waits for the environment.
    queue = math.ceil(episodes / gpus) / 2  # half of the others' prompts come first
    prefill = 2 * model.decoder * args.prompt / (args.tflops * 1e12 * args.mfu) * queue
    latency = 50 * (args.reply * step + prefill + args.env_s)
    return {
        "rollout": args.rounds * latency,
        "compute": compute,
        "exchange": max(exchange - compute / 2, 0.0),  # what does not hide behind computing
        "sync": 2 * model.size / (args.sync * GB),
        "evaluation": latency / 5,
    }


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="A plan on paper, see the docstring.")
    add = parser.add_argument
    add("--turns", type=float, default=20, help="mean turns of an episode; assumed (most: 50)")
    add("--prompt", type=float, default=900, help="mean tokens of a prompt; assumed (most: 2048)")
    add("--reply", type=float, default=150, help="mean tokens of a reply; assumed (most: 512)")
    add("--rounds", type=float, default=2, help="rollout rounds per update; assumed (most: 3)")
    add("--micro-batch-tokens", type=int, default=16384, help="the default of sampo")
    add("--tflops", type=float, default=989, help="bf16, H100 and H200 (data sheet)")
    add("--mfu", type=float, default=0.35, help="share of it that is reached; assumed")
    add("--bandwidth", type=float, default=3.35, help="TB/s, H100; H200 has 4.8 (data sheet)")
    add("--bandwidth-use", type=float, default=0.5, help="share that decoding reaches; assumed")
    add("--env-s", type=float, default=0.05, help="s per turn: 1 ms ALFWorld, measured; waiting")
    add("--link", type=float, default=300, help="GB/s per GPU, NVLink; assumed (450 at most)")
    add("--network", type=float, default=40, help="GB/s per GPU between nodes; assumed (400 Gb/s)")
    add("--sync", type=float, default=2, help="GB/s of weights to vLLM, by files; assumed")
    args = parser.parse_args()
    for model in MODELS:
        print(f"\n{model.name}: {model.size / GB:.2f}e9 weights, GB per GPU during an update")
        for gpus in (1, 4, 8, 64):
            found = memory(model, gpus, args)
            parts = "  ".join(f"{name} {value:.1f}" for name, value in found.items())
            print(f"{gpus:>4} GPUs  {sum(found.values()):6.1f} = {parts}")
    trained = 128 * args.turns * (args.prompt + args.reply)
    for model in MODELS:
        print(f"\n{model.name}: seconds per update of {trained / 1e6:.1f}M tokens")
        for gpus in (4, 8, 64):
            found = seconds(model, gpus, args)
            total = sum(found.values())
            parts = "  ".join(f"{name} {value:.0f}" for name, value in found.items())
            speed = trained / (found["compute"] + found["exchange"]) / gpus
            print(
                f"{gpus:>4} GPUs  {total:5.0f} = {parts}   {speed:,.0f} tokens/s per GPU", end=" "
            )
            print(f"in the update; 200 updates: {200 * total / 3600:.1f} h")


if __name__ == "__main__":
    main()
