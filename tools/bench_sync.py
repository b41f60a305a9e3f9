"""How long weights take to vLLM, proof of arrival included.

    python tools/bench_sync.py --shape qwen3-0.6b

A random policy is synced three times; every sync compares checksums and a probe's log-probabilities
and fails if they differ. The first one starts vLLM.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from random_updates import SHAPES, make_policy

from sampo.rollout.vllm_engine import VLLMEngine


def main() -> None:
    """Sync and print the times."""
    parser = argparse.ArgumentParser(description="Weights to vLLM, see the docstring.")
    parser.add_argument("--shape", choices=list(SHAPES), default="small")
    args = parser.parse_args()
    on_gpu = torch.cuda.is_available()
    policy = make_policy(args.shape, "cuda" if on_gpu else "cpu")
    shared: dict[str, Any] = {"gpu_memory_utilization": 0.4} if on_gpu else {}
    engine, times = VLLMEngine(context_length=1024, engine_args=shared), []
    for version in range(3):
        start = time.perf_counter()
        engine.sync_weights(policy, version)
        times.append(time.perf_counter() - start)
    engine.close()
    size = sum(p.numel() * p.element_size() for p in policy.parameters()) / 1e9
    print(f"start and first sync {times[0]:.0f} s, a later one {times[-1]:.2f} s ({size:.2f} GB)")


if __name__ == "__main__":
    main()
