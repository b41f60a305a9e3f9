"""How fast ALFWorld is played, in TextWorld's own environment and here, and what memory it takes.

    OMP_NUM_THREADS=1 python tools/bench_alfworld.py --data DATA --games 16 --episodes 8

Each game is played in a group of episodes of random commands, the same ones by both engines, whose
transcripts must be equal. Ours plays twice: the first time with an empty cache folder. Times are
CPU seconds; games and steps per second are by the clock, with 1 and 2 processes.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from bench_alfworld_engines import Ours, Plain, Shown

from sampo_envs.alfworld import AlfworldEnv, open_games

STEPS = 15


@dataclass
class Times:
    """CPU seconds of one process, and a digest of all it was shown."""

    first: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    digest: Any = field(default_factory=hashlib.sha256)

    def clock(self, times: list[float], call: Callable[[], Shown]) -> Shown:
        """Do something, note how long it took and what it showed."""
        began = time.process_time()
        shown = call()
        times.append(time.process_time() - began)
        self.digest.update(repr(shown).encode())
        return shown


def play(make: type[Any], data: str, tasks: Iterable[str], episodes: int) -> Times:
    """Play groups of episodes in this process."""
    times, env = Times(), make(data)
    for task in tasks:
        for episode in range(episodes):
            rng = random.Random(f"{task} {episode}")
            resets = times.again if episode else times.first
            _, commands, won = times.clock(resets, lambda task=task: env.reset(task))
            for _ in range(STEPS):
                command = rng.choice(commands)
                _, commands, won = times.clock(times.steps, lambda c=command: env.step(c))
                if won:
                    break
    times.digest = times.digest.hexdigest()
    return times


def measure(name: str, make: type[Any], args: argparse.Namespace, workers: int) -> list[str]:
    """Play all games in processes, print a line, and return the digests."""
    tasks = open_games(args.data).splits["valid_seen"][: args.games]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        list(pool.map(play, [make] * workers, [args.data] * workers, [()] * workers, [1] * workers))
        began = time.perf_counter()
        jobs = [pool.submit(play, make, args.data, [task], args.episodes) for task in tasks]
        parts = [job.result() for job in jobs]
        wall = time.perf_counter() - began
    first, again, steps = (
        [one for part in parts for one in getattr(part, kind)]
        for kind in ("first", "again", "steps")
    )
    mean = [sum(kind) / max(len(kind), 1) for kind in (first, again, steps)]
    print(
        f"{name}, processes: {workers}; first reset {mean[0]:.3f} CPU s, later {mean[1]:.4f}, "
        f"step {mean[2]:.4f}; {len(first + again) / wall:.2f} episodes/s, "
        f"{len(steps) / wall:.0f} steps/s"
    )
    return [part.digest for part in parts]


def memory(args: argparse.Namespace) -> None:
    """Print the memory of this process over many episodes of the expert."""
    env, peaks = AlfworldEnv(data=args.data), []
    tasks = env.tasks("val")[: args.games]
    for episode in range(args.memory_episodes):
        env.reset(seed=0, options={"task": tasks[episode % len(tasks)]})
        while not env.step(env.expert_action() or "look")[2]:
            pass
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    marks = [peaks[int(share * len(peaks)) - 1] for share in (0.1, 0.4, 1.0)]
    print(f"memory after 10 %, 40 %, all of {len(peaks)} episodes: {marks} MB at most")


def main() -> None:
    """Measure before and after."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", default="fetched")
    parser.add_argument("--games", type=int, default=16)
    parser.add_argument("--episodes", type=int, default=8, help="of a group")
    parser.add_argument("--memory-episodes", type=int, default=1000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        open_games(args.data)
        digests = [measure("TextWorld", Plain, args, workers) for workers in (1, 2)]
        digests.append(measure("here, empty cache", Ours, args, 1))
        digests += [measure("here", Ours, args, workers) for workers in (1, 2)]
        print(f"transcripts equal: {all(one == digests[0] for one in digests)}")
        memory(args)


if __name__ == "__main__":
    main()
