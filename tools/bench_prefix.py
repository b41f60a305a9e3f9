"""What it brings to compute the common beginning of rows once. Figures for docs/scaling.md.

    OMP_NUM_THREADS=1 python tools/bench_prefix.py

First, of the tokens of a rollout's rows, how many are computed when equal rows are scored once
(what is always done), when one beginning per pass is shared, too (`model.packing: on`), and when
every common beginning in a group were (a bound: a tree of prefixes). Then CPU seconds of forward
and backward on some of these rows, padded and packed.
"""

from __future__ import annotations

import argparse
import time

import torch
from random_updates import make_policy
from torch import Tensor

from sampo.models.loading import load_tokenizer
from sampo.models.packed_attention import PACKED
from sampo.models.policy import Policy
from sampo.rollout.agents import EngineAgent
from sampo.rollout.chat import ChatRenderer
from sampo.rollout.collector import Collector, EpisodeSettings
from sampo.rollout.conversation import WindowContext
from sampo.rollout.engine import SamplingParams
from sampo.rollout.live_episode import EpisodeRequest
from sampo.rollout.transformers_engine import TransformersEngine
from sampo.rollout.workers import EnvPool
from sampo_envs.sokoban import SokobanEnv

NANO = "nano-sokoban"
Row = tuple[int, ...]


def played_rows(env: SokobanEnv, history: int, groups: int) -> list[list[Row]]:
    """Play groups of 8 with the nano policy; return the rows of each group."""
    tokenizer = load_tokenizer(NANO)
    settings = EpisodeSettings(
        renderer=ChatRenderer(tokenizer),
        prompt_format=env.prompt_format,
        context=WindowContext(history=history),
        context_length=2048,
        max_new_tokens=8,
    )
    engine = TransformersEngine()
    engine.bind(tokenizer)
    engine.sync_weights(Policy.load(NANO), 0)
    agent, tasks = EngineAgent(engine, SamplingParams(max_new_tokens=8)), env.tasks("train")
    requests = [
        EpisodeRequest(task=tasks[i // 8], env_seed=i // 8, sampling_seed=i)
        for i in range(8 * groups)
    ]
    with EnvPool(env, num_workers=0) as pool:
        episodes = Collector(pool, agent, settings).run(requests)
    found: list[list[Row]] = [[] for _ in range(groups)]
    for number, episode in enumerate(episodes):
        rows = [(*turn.prompt_ids, *turn.action_ids) for turn in episode.turns]
        found[number // 8].extend(rows)
    return found


def in_common(one: Row, other: Row) -> int:
    """Return how many first tokens two rows share."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def tree_tokens(rows: list[Row]) -> int:
    """Return the tokens of a tree in which no common beginning is there twice."""
    total, before = 0, ()
    for row in sorted(rows):
        total, before = total + len(row) - in_common(row, before), row
    return total


def cost(policy: Policy, batch: tuple[Tensor, Tensor, Tensor]) -> tuple[float, float]:
    """Return CPU seconds of forward and backward (best of 2), and the gradient's norm."""
    best, norm = float("inf"), 0.0
    for _ in range(2):
        policy.zero_grad()
        start = time.process_time()
        policy(*batch).logprobs.mean().backward()
        best = min(best, time.process_time() - start)
        norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), 1e9).item()
    return best, norm


def some_rows(rows: list[Row], number: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return ids, lengths and action mask (the last 5 tokens) of rows from all over the rollout."""
    chosen = sorted(set(rows), key=len)[:: max(len(set(rows)) // number, 1)][:number]
    lengths = torch.tensor([len(row) for row in chosen])
    ids = torch.zeros(len(chosen), int(lengths.max()), dtype=torch.long)
    for place, row in zip(ids, chosen, strict=True):
        place[: len(row)] = torch.tensor(row)
    columns = torch.arange(ids.shape[1])[None]
    return ids, lengths, (columns >= lengths[:, None] - 5) & (columns < lengths[:, None])


def main() -> None:
    """Count tokens, then measure passes."""
    parser = argparse.ArgumentParser(description="Sharing prefixes, see the docstring.")
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--rows", type=int, default=16, help="of the passes that are measured")
    args = parser.parse_args()
    policy = make_policy("small", "cpu", 2048)
    short = SokobanEnv(size=6, boxes=1, search_depth=30, max_turns=10, rendering="relative")
    for name, env, history in (("quickstart", short, 0), ("paper's prompts", SokobanEnv(), 2)):
        groups = played_rows(env, history, args.groups)
        every = [row for rows in groups for row in rows]
        tokens, distinct = sum(map(len, every)), set(every)
        once, common = sum(map(len, distinct)), in_common(min(every), max(every))
        shared = once - (len(distinct) - 1) * common
        tree = sum(tree_tokens(rows) for rows in groups)
        print(f"{name}: {len(every)} rows of {tokens / len(every):.0f} tokens, {common} in common.")
        print(f"  computed: distinct rows {once / tokens:.0%},", end=" ")
        print(f"one beginning {shared / tokens:.0%}, a tree {tree / tokens:.0%}", flush=True)
        batch = some_rows(every, args.rows)
        policy.unpack()
        padded, norm = cost(policy, batch)
        policy.pack(PACKED)
        packed, norm_too = cost(policy, batch)
        assert abs(norm - norm_too) < 1e-3 * norm, "not the same gradient"
        print(f"  {args.rows} distinct rows: padded {padded:.2f} s, packed {packed:.2f} s", end=" ")
        print(f"({padded / packed:.2f} x)", flush=True)


if __name__ == "__main__":
    main()
