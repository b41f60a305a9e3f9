"""Speed and memory of WebShop: steps a second, start of a worker, memory of several workers.

    OMP_NUM_THREADS=1 SAMPO_WEBSHOP_DATA=... python tools/bench_webshop.py --data fetched

Steps are those of the expert, every second one on average replaced by a random click, in groups of
8 episodes per goal as in training; CPU time of one process, resets and expert included. A worker is
a fresh process that imports the environment, opens the prepared data and resets. Memory is what it
has for itself after 200 episodes (USS), and with its share of what others have in common (PSS).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from random import Random

from sampo_envs.webshop import WebShopEnv

WORKER = """
import sys, time
start = time.perf_counter()
from sampo_envs.webshop import WebShopEnv
env = WebShopEnv(data=sys.argv[1])
tasks = env.tasks("train")
env.reset(options={"task": tasks[0]})
print(time.perf_counter() - start, flush=True)
for task in tasks[:200]:
    env.reset(options={"task": task})
    while not env.step(env.expert_action())[2]:
        pass
print("played", flush=True)
sys.stdin.readline()
"""


def play(env: WebShopEnv, goals: int, rng: Random) -> tuple[int, float]:
    """Return the number of turns played and the CPU seconds that they took."""
    tasks, turns = list(env.tasks("train")), 0
    start = time.process_time()
    for task in rng.sample(tasks, goals):
        for _ in range(8):
            _, info = env.reset(options={"task": task})
            over = False
            while not over:
                wise = env.expert_action() or ""
                action = rng.choice(info["admissible_actions"]) if rng.random() < 0.5 else wise
                _, _, terminated, truncated, info = env.step(action)
                over = terminated or truncated
                turns += 1
    return turns, time.process_time() - start


def memory(pid: int) -> tuple[float, float]:
    """Return (USS, PSS) of a process in MB."""
    fields = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, value, *_ = line.replace(":", "").split()
        fields[name] = int(value) / 1000
    return fields["Private_Clean"] + fields["Private_Dirty"], fields["Pss"]


def start_workers(data: str, count: int) -> list[tuple[float, float, float]]:
    """Return (seconds to the first observation, USS, PSS) of workers that run at the same time."""
    command = [sys.executable, "-c", WORKER, data]
    workers, seconds = [], []
    for _ in range(count):  # one after another: the machine may have one core only
        worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert worker.stdout is not None
        workers.append(worker)
        seconds.append(float(worker.stdout.readline()))
        worker.stdout.readline()
    sizes = [memory(worker.pid) for worker in workers]
    for worker in workers:
        worker.communicate("\n")
    return [(wall, *size) for wall, size in zip(seconds, sizes, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", default="made-up", help="see WebShopEnv")
    parser.add_argument("--goals", type=int, default=100)
    parser.add_argument("--workers", type=int, default=4)
    args = parser.parse_args()
    start = time.process_time()
    env = WebShopEnv(data=args.data)
    env.tasks("train")
    print(f"opening the data: {time.process_time() - start:.2f} CPU s (the first time: preparing)")
    turns, spent = play(env, args.goals, Random(0))
    print(f"{turns} turns of {8 * args.goals} episodes: {turns / spent:.0f} steps a CPU second")
    for wall, uss, pss in start_workers(args.data, args.workers):
        print(f"worker: ready after {wall:.2f} s; {uss:.1f} MB of its own, PSS {pss:.1f} MB")


if __name__ == "__main__":
    main()
