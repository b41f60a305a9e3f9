"""Rollout speed: vLLM against the transformers engine, on the same policy, tasks and machine.

    OMP_NUM_THREADS=1 python tools/bench_engines.py                           # the nano policy
    OMP_NUM_THREADS=1 python tools/bench_engines.py --hidden 256 --layers 4   # a random, larger one

Both play the same Sokoban episodes with the same seeds through the collector. The first round
warms up and is not counted; the rounds of the two engines alternate, and the best of each counts.
Besides wall time, which wants an idle machine, CPU time is taken, of all processes together.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import psutil  # pyright: ignore[reportMissingModuleSource]  comes with vLLM
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from sampo.models.loading import load_tokenizer
from sampo.models.policy import Policy
from sampo.models.sources import resolve_policy
from sampo.rollout.agents import EngineAgent
from sampo.rollout.chat import ChatRenderer
from sampo.rollout.collector import Collector, EpisodeSettings
from sampo.rollout.conversation import TranscriptContext, WindowContext
from sampo.rollout.engine import RolloutEngine, SamplingParams
from sampo.rollout.live_episode import EpisodeRequest
from sampo.rollout.transformers_engine import TransformersEngine
from sampo.rollout.vllm_engine import VLLMEngine
from sampo.rollout.workers import EnvPool
from sampo_envs.sokoban import SokobanEnv

NANO = "nano-sokoban"
Rates = list[float]  # per second: episodes, tokens; tokens per CPU second


def make_policy(hidden: int | None, layers: int) -> Policy:
    """Load the nano policy, or make a random one with its vocabulary and heads of 64."""
    if hidden is None:
        return Policy.load(NANO)
    config = AutoConfig.from_pretrained(resolve_policy(NANO))
    shape: dict[str, Any] = {"hidden_size": hidden, "intermediate_size": 3 * hidden, "head_dim": 64}
    shape |= {"num_hidden_layers": layers, "num_attention_heads": hidden // 64}
    shape |= {"num_key_value_heads": max(hidden // 128, 1), "layer_types": None}
    config = type(config)(**{**config.to_dict(), **shape})
    torch.manual_seed(0)
    return Policy(AutoModelForCausalLM.from_config(config).float())


def play(engine: RolloutEngine, settings: EpisodeSettings, env: SokobanEnv, episodes: int) -> Rates:
    """Play the tasks in groups of 8 and return the rates."""
    tasks = env.tasks("train")
    requests = [
        EpisodeRequest(task=tasks[i // 8], env_seed=i // 8, sampling_seed=i)
        for i in range(episodes)
    ]
    params = SamplingParams(max_new_tokens=settings.max_new_tokens)
    agent = EngineAgent(engine, params, sessions=isinstance(settings.context, TranscriptContext))
    with EnvPool(env, num_workers=0) as pool:
        start, start_cpu = time.perf_counter(), cpu_seconds()
        played = Collector(pool, agent, settings).run(requests)
        seconds, cpu = time.perf_counter() - start, cpu_seconds() - start_cpu
    tokens = sum(episode.num_action_tokens for episode in played)
    return [episodes / seconds, tokens / seconds, tokens / cpu]


def cpu_seconds() -> float:
    """Return the CPU time that this process and its children have used."""
    own = psutil.Process()
    times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
    return sum(t.user + t.system for t in times)


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description="vLLM against transformers, see the docstring.")
    parser.add_argument("--episodes", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hidden", type=int, help="width of a random policy; a multiple of 64")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--max-new-tokens", type=int, default=8)
    parser.add_argument("--transcript", action="store_true", help="all turns in one row")
    args = parser.parse_args()
    policy = make_policy(args.hidden, args.layers)
    tokenizer = load_tokenizer(NANO)
    env = SokobanEnv(size=6, boxes=1, search_depth=30, max_turns=10, rendering="relative")
    settings = EpisodeSettings(
        renderer=ChatRenderer(tokenizer),
        prompt_format=env.prompt_format,
        context=TranscriptContext() if args.transcript else WindowContext(history=0),
        context_length=2048,
        max_new_tokens=args.max_new_tokens,
    )
    engines = {"vLLM": VLLMEngine(), "transformers": TransformersEngine()}
    for name, engine in engines.items():
        start = time.perf_counter()
        engine.bind(tokenizer)
        engine.sync_weights(policy, 0)
        print(f"{name}: ready in {time.perf_counter() - start:.1f} s", flush=True)
    best = {name: [0.0, 0.0, 0.0] for name in engines}
    for number in range(args.rounds + 1):
        for name, engine in engines.items():
            rates = play(engine, settings, env, args.episodes)
            print(f"  round {number}, {name}: {rates[0]:.2f} episodes/s, {rates[1]:.0f} tokens/s,")
            print(f"    {rates[2]:.0f} tokens per CPU second", flush=True)
            if number:
                best[name] = list(map(max, best[name], rates))
    start = time.perf_counter()
    engines["vLLM"].sync_weights(policy, 1)
    synced = time.perf_counter() - start
    engines["vLLM"].close()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    parameters = sum(p.numel() for p in policy.parameters()) / 1e6
    ratios = [a / b for a, b in zip(best["vLLM"], best["transformers"], strict=True)]
    print(f"{parameters:.1f}M parameters, {args.episodes} episodes: vLLM / transformers =", end=" ")
    print(f"{ratios[0]:.2f} in episodes/s, {ratios[1]:.2f} in tokens/s, {ratios[2]:.2f} per CPU s;")
    print(f"a sync takes {synced:.2f} s, vLLM's largest process {peak:.2f} GiB")


if __name__ == "__main__":
    main()
