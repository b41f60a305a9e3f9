"""Update speed and memory: sampo against right-padded batches with a full log-softmax.

    OMP_NUM_THREADS=1 python tools/bench_update.py
    python tools/bench_update.py --shape qwen3-0.6b --rows 64 --turn 200 --budget 16384   # a GPU

One update (forward, SAMPO's loss with KL and entropy, backward) of a random Qwen3 on ragged rows.
The plain version takes the rows in the order they come, makes logits for all positions and their
fp32 log-softmax and entropy; the micro-batches of both hold at most the same number of tokens,
padding included. Each version runs in a process of its own. Measured is the best update after the
first. On a CPU times are CPU seconds, so that a busy machine disturbs little, and memory is the
process's highest resident set; on a GPU, wall seconds in bfloat16 and the most that was allocated.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from random_updates import SHAPES, make_batch, make_policy, needed_flops, peak_tflops
from torch import Tensor

from sampo.batch import RolloutBatch
from sampo.losses import LossInputs, PolicyLoss
from sampo.models.logprobs import TokenScores
from sampo.models.packing import settle_packing
from sampo.models.policy import Policy
from sampo.token_budget import by_token_budget
from sampo.world import World


def full_softmax(policy: Policy, token_ids: Tensor, *_others: Tensor) -> TokenScores:
    """Score every position of a padded batch the straightforward way."""
    logp = policy.model(input_ids=token_ids, use_cache=False).logits.float().log_softmax(dim=-1)
    chosen = logp[:, :-1].gather(-1, token_ids[:, 1:, None]).squeeze(-1)
    entropy = -(logp.exp() * logp).sum(-1)[:, :-1]
    pad = torch.nn.functional.pad
    return TokenScores(pad(chosen, (1, 0)), pad(entropy, (1, 0)))


def update(policy: Policy, batch: RolloutBatch, budget: int, *, plain: bool) -> float:
    """Accumulate the gradient of one mini-batch; return the loss."""
    loss = PolicyLoss(entropy_coef=0.001)
    weights = loss.plan(batch).surrogate.normalised()
    if plain:
        parts = list(torch.arange(len(batch)).split(max(budget // batch.token_ids.shape[1], 1)))
    else:
        rows = torch.arange(len(batch))
        parts = by_token_budget(batch.lengths, rows, budget, packed=policy.packed)
    score, total = full_softmax if plain else Policy.__call__, 0.0
    for rows in parts:
        part = batch.select(rows.to(batch.lengths.device))
        scores = score(policy, part.token_ids, part.lengths, part.action_mask)
        inputs = LossInputs(
            logprobs=scores.logprobs,
            old_logprobs=scores.logprobs.detach(),
            ref_logprobs=scores.logprobs.detach() - 0.1,
            entropy=scores.entropy,
            advantages=part.advantages,
            action_mask=part.action_mask,
            turn_ids=part.turn_ids,
            episode_ids=part.episode_ids,
            weights=weights[rows.to(weights.device)][:, : part.token_ids.shape[1]],
        )
        output = loss(inputs)
        output.loss.backward()
        total += output.loss.item()
    return total


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Run one version in this process."""
    device = "cuda" if torch.cuda.is_available() and not args.cpu else "cpu"
    policy, clock = make_policy(args.shape, device, args.vocabulary), time.process_time
    batch = make_batch(args.rows, args.turn, policy.model.config.vocab_size, args.share).to(device)
    found: dict[str, Any] = {"tokens": int(batch.lengths.sum()), "device": device, "mfu": None}
    if args.version == "sampo":
        wanted = {"auto": "auto", "on": True, "off": False}
        settle_packing(policy, wanted[args.packing], World())
    found["packed"] = policy.packed
    if device == "cuda":
        clock = time.perf_counter
        found["device"] = torch.cuda.get_device_name()
    else:
        Path("/proc/self/clear_refs").write_text("5")  # starts the high-water mark anew
    times: list[float] = []
    for _ in range(args.repeats + 1):
        policy.zero_grad()
        start = clock()
        found["loss"] = update(policy, batch, args.budget, plain=args.version == "plain")
        found["norm"] = torch.nn.utils.clip_grad_norm_(policy.parameters(), 1e9).item()  # waits
        times.append(clock() - start)
    found["seconds"] = min(times[1:])
    status = Path("/proc/self/status").read_text()
    found["peak_mb"] = int(status.split("VmHWM:")[1].split()[0]) / 1e3
    if device == "cuda":
        found["peak_mb"] = torch.cuda.max_memory_allocated() / 1e6
    if peak := peak_tflops(found["device"]):
        found["mfu"] = needed_flops(policy, batch) / found["seconds"] / peak / 1e12
    return found


def main() -> None:
    """Run both versions and print the ratios."""
    parser = argparse.ArgumentParser(description="Update speed and memory, see the docstring.")
    parser.add_argument("--rows", type=int, default=24)
    parser.add_argument("--turn", type=int, default=60, help="tokens of observation and reply")
    parser.add_argument("--shape", choices=list(SHAPES), default="small")
    parser.add_argument("--vocabulary", type=int, help="instead of the shape's")
    parser.add_argument("--share", type=float, default=0.4, help="action tokens of all tokens")
    parser.add_argument("--budget", type=int, default=4096, help="tokens of a micro-batch")
    parser.add_argument("--packing", choices=["auto", "on", "off"], default="auto")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--cpu", action="store_true", help="even if there is a GPU")
    parser.add_argument("--version", choices=["sampo", "plain"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.version:
        print(json.dumps(measure(args)))
        return
    found: dict[str, dict[str, Any]] = {}
    for version in ("sampo", "plain"):
        command = [sys.executable, *sys.argv, "--version", version]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        one = found[version] = json.loads(output.splitlines()[-1])
        print(f"{version}: {one['tokens'] / one['seconds']:6.0f} tokens/s,", end=" ")
        print(f"peak {one['peak_mb']:6.0f} MB, MFU {one['mfu'] or float('nan'):.3f},", end=" ")
        print(f"loss {one['loss']:.6f}, gradient norm {one['norm']:.6f}", flush=True)
    ours, plain = found["sampo"], found["plain"]
    print(f"speed ratio {plain['seconds'] / ours['seconds']:.2f} (the aim is at least 1.5)")
    print(f"memory ratio {ours['peak_mb'] / plain['peak_mb']:.2f} (the aim is at most 0.6)")


if __name__ == "__main__":
    main()
