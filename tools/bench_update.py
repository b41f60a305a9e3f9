"""Update speed and memory: sampo against right-padded batches with a full log-softmax.

    OMP_NUM_THREADS=1 python tools/bench_update.py

One update (forward, SAMPO's loss with KL and entropy, backward) of a random Qwen3 with a 32k
vocabulary on ragged rows. The plain version takes the rows in the order they come, makes logits for
all positions and their fp32 log-softmax and entropy; the micro-batches of both hold at most the
same number of tokens, padding included. Each version runs in a process of its own; times are CPU
seconds of the second update, so that a busy machine disturbs little, and memory is the process's
highest resident set.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import Qwen3Config, Qwen3ForCausalLM

from sampo.batch import RolloutBatch, by_token_budget
from sampo.losses import LossInputs, PolicyLoss
from sampo.models.logprobs import TokenScores
from sampo.models.policy import Policy

TURN = 60
"""Tokens of an observation and the reply after it."""


def make_policy(vocabulary: int) -> Policy:
    """Make a random model, 256 wide and 4 layers deep."""
    torch.manual_seed(0)
    shape: dict[str, Any] = {"hidden_size": 256, "intermediate_size": 768, "num_hidden_layers": 4}
    shape |= {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64}
    config = Qwen3Config(vocab_size=vocabulary, tie_word_embeddings=True, **shape)
    return Policy(Qwen3ForCausalLM(config))


def make_batch(rows: int, vocabulary: int, share: float) -> RolloutBatch:
    """Make transcripts of 2 to 15 turns in random order, `share` of each turn being actions."""
    generator = torch.Generator().manual_seed(0)
    turns = 2 + torch.randperm(rows, generator=generator) * 14 // rows
    lengths = turns * TURN
    width = int(lengths.max())
    columns = torch.arange(width)[None]
    mask = (columns % TURN >= TURN * (1 - share)) & (columns < lengths[:, None])
    first_turn = turns.cumsum(0) - turns
    none = torch.tensor(-1)
    return RolloutBatch(
        token_ids=torch.randint(vocabulary, (rows, width), generator=generator),
        lengths=lengths,
        action_mask=mask,
        turn_ids=torch.where(mask, first_turn[:, None] + columns // TURN, none),
        episode_ids=torch.where(mask, torch.arange(rows)[:, None], none),
        advantages=torch.randn(rows, width, generator=generator) * mask,
        sampling_logprobs=torch.zeros(rows, width),
        policy_version=0,
    )


def full_softmax(policy: Policy, token_ids: Tensor, *_others: Tensor) -> TokenScores:
    """Score every position of a padded batch the straightforward way."""
    logits = policy.model(input_ids=token_ids, use_cache=False).logits
    logp = torch.log_softmax(logits.float(), dim=-1)
    chosen = logp[:, :-1].gather(-1, token_ids[:, 1:, None]).squeeze(-1)
    entropy = -(logp.exp() * logp).sum(-1)[:, :-1]
    pad = torch.nn.functional.pad
    return TokenScores(pad(chosen, (1, 0)), pad(entropy, (1, 0)))


def update(policy: Policy, batch: RolloutBatch, budget: int, *, plain: bool) -> Tensor:
    """Accumulate the gradient of one mini-batch; return the loss."""
    loss = PolicyLoss(entropy_coef=0.001)
    weights = loss.plan(batch).surrogate.normalised()
    if plain:
        parts = list(torch.arange(len(batch)).split(max(budget // batch.token_ids.shape[1], 1)))
    else:
        parts = by_token_budget(batch.lengths, torch.arange(len(batch)), budget)
    score = full_softmax if plain else Policy.__call__
    total = torch.zeros(())
    for rows in parts:
        part = batch.select(rows)
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
            weights=weights[rows][:, : part.token_ids.shape[1]],
        )
        output = loss(inputs)
        output.loss.backward()
        total += output.loss.detach()
    return total


def measure(args: argparse.Namespace) -> None:
    """Run one version in this process; print seconds, peak MB, loss and gradient norm."""
    policy = make_policy(args.vocabulary)
    batch = make_batch(args.rows, args.vocabulary, args.share)
    seconds = loss = norm = 0.0
    Path("/proc/self/clear_refs").write_text("5")  # starts the high-water mark anew
    for _ in range(2):
        policy.zero_grad()
        start = time.process_time()
        loss = update(policy, batch, args.budget, plain=args.version == "plain").item()
        seconds = time.process_time() - start
        norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), 1e9).item()
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1e3
    print(seconds, peak, loss, norm)


def main() -> None:
    """Run both versions and print the ratios."""
    parser = argparse.ArgumentParser(description="Update speed and memory, see the docstring.")
    parser.add_argument("--rows", type=int, default=24)
    parser.add_argument("--vocabulary", type=int, default=32768)
    parser.add_argument("--share", type=float, default=0.4, help="action tokens of all tokens")
    parser.add_argument("--budget", type=int, default=4096, help="tokens of a micro-batch")
    parser.add_argument("--version", choices=["sampo", "plain"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.version:
        measure(args)
        return
    tokens = int(make_batch(args.rows, args.vocabulary, args.share).lengths.sum())
    found = {}
    for version in ("sampo", "plain"):
        command = [sys.executable, *sys.argv, "--version", version]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds, peak, loss, norm = found[version] = [float(x) for x in output.split()[-4:]]
        print(f"{version}: {tokens / seconds:6.0f} tokens/s, peak {peak:6.0f} MB, ", end="")
        print(f"loss {loss:.6f}, gradient norm {norm:.6f}", flush=True)
    ours, plain = found["sampo"], found["plain"]
    print(f"speed ratio {plain[0] / ours[0]:.2f} (the aim is at least 1.5)")
    print(f"memory ratio {ours[1] / plain[1]:.2f} (the aim is at most 0.6)")


if __name__ == "__main__":
    main()
