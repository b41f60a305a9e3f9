"""How cost grows: the curves of docs/scaling.md.

Episodes per second against how many run at once (nano policy, Sokoban), time of an update against
its tokens, memory against the length of a row (random model).

    OMP_NUM_THREADS=1 python tools/bench_scaling.py --figure docs/scaling.png

On a CPU times are CPU seconds of this process, in which everything runs, so that a busy machine
disturbs little; on a GPU they are wall seconds. Memory is what an update of one row adds to what
the process (or the GPU) holds already.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import torch
from bench_engines import NANO, play
from bench_update import update
from curves import Curve, draw, report
from random_updates import SHAPES, make_batch, make_policy

from sampo.models.loading import load_tokenizer
from sampo.models.packing import settle_packing
from sampo.models.policy import Policy
from sampo.rollout.chat import ChatRenderer
from sampo.rollout.collector import EpisodeSettings
from sampo.rollout.conversation import WindowContext
from sampo.rollout.transformers_engine import TransformersEngine
from sampo.world import World
from sampo_envs.sokoban import SokobanEnv


def seconds(work: Callable[[], object]) -> float:
    """Return how long something takes."""
    clock = time.perf_counter if torch.cuda.is_available() else time.process_time
    start = clock()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return clock() - start


def rollout_curve(most: int, device: str) -> Curve:
    """Play `n` episodes at once; return episodes per (CPU) second."""
    tokenizer = load_tokenizer(NANO)
    env = SokobanEnv(size=6, boxes=1, search_depth=30, max_turns=10, rendering="relative")
    settings = EpisodeSettings(
        renderer=ChatRenderer(tokenizer),
        prompt_format=env.prompt_format,
        context=WindowContext(history=0),
        context_length=128,
        max_new_tokens=8,
    )
    engine = TransformersEngine(max_batch=most, context_length=128)
    engine.bind(tokenizer)
    engine.sync_weights(Policy.load(NANO).to(device), 0)
    curve: Curve = []
    for number in [8, *(2**n for n in range(3, 20) if 2**n <= most)]:  # the first warms up
        episodes, tokens, tokens_per_cpu = play(engine, settings, env, number)
        rate = episodes if torch.cuda.is_available() else tokens_per_cpu * episodes / tokens
        curve.append((number, rate))
    return curve[1:]


def update_curve(policy: Policy, rows: list[int], device: str) -> Curve:
    """Return seconds of an update against its tokens."""
    curve: Curve = []
    for number in rows[:1] + rows:  # the first warms up
        batch = make_batch(number, 60, policy.model.config.vocab_size).to(device)
        policy.zero_grad()
        took = seconds(lambda batch=batch: update(policy, batch, 4096, plain=False))
        curve.append((int(batch.lengths.sum()), took))
    return curve[1:]


def memory_curve(shape: str, lengths: list[int], checkpointing: bool) -> Curve:
    """Return the MB that an update of one row of two turns adds, against the row's tokens."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    policy = make_policy(shape, device, vocabulary_of(shape))
    if checkpointing:
        policy.model.gradient_checkpointing_enable()
    vocabulary = policy.model.config.vocab_size
    update(policy, make_batch(1, 32, vocabulary).to(device), 64, plain=False)  # makes gradients
    before, curve = used_mb("VmRSS:"), []
    for length in lengths:
        if not torch.cuda.is_available():
            Path("/proc/self/clear_refs").write_text("5")  # starts the high-water mark anew
        batch = make_batch(1, length // 2, vocabulary).to(device)
        update(policy, batch, length, plain=False)
        curve.append((length, used_mb("VmHWM:") - before))
    return curve


def vocabulary_of(shape: str) -> int | None:
    """Return a small vocabulary for the small model, so that its layers count."""
    return 2048 if shape == "small" else None


def used_mb(entry: str) -> float:
    """Return the memory that is held now (VmRSS), or most of all so far (VmHWM)."""
    if torch.cuda.is_available():
        peak = (
            torch.cuda.memory_allocated() if "RSS" in entry else torch.cuda.max_memory_allocated()
        )
        return peak / 1e6
    return int(Path("/proc/self/status").read_text().split(entry)[1].split()[0]) / 1e3


def main() -> None:
    """Measure the three curves and draw them."""
    parser = argparse.ArgumentParser(description="How cost grows, see the docstring.")
    parser.add_argument("--episodes", type=int, default=512, help="most at once")
    parser.add_argument("--rows", type=int, default=32, help="of the largest update")
    parser.add_argument("--length", type=int, default=8192, help="of the longest row")
    parser.add_argument("--shape", choices=list(SHAPES), default="small")
    parser.add_argument("--figure", type=Path, help="PNG or SVG, by the ending")
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    curves: dict[str, tuple[str, Curve]] = {}

    def curve(title: str, unit: str, found: Curve) -> None:
        curves[title] = (unit, found)
        report(title, unit, found)

    curve("episodes at once", "episodes/s", rollout_curve(args.episodes, device))
    policy = make_policy(args.shape, device, vocabulary_of(args.shape))
    settle_packing(policy, "auto", World())
    rows = [2**n for n in range(1, 12) if 2**n <= args.rows]
    curve("tokens of an update", "s", update_curve(policy, rows, device))
    lengths = [2**n for n in range(9, 20) if 2**n <= args.length]
    for checkpointing in (False, True):
        with get_context("spawn").Pool(1) as fresh:  # a process in which nothing was freed yet
            found = fresh.apply(memory_curve, (args.shape, lengths, checkpointing))
        curve("tokens of one row" + ", checkpointing" * checkpointing, "MB", found)
    if args.figure:
        draw(curves, args.figure)


if __name__ == "__main__":
    main()
