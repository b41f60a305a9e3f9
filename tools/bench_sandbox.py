"""Cost of running model-written programs: cold start, calls one after another, calls in parallel.

    OMP_NUM_THREADS=1 nice -n 5 python tools/bench_sandbox.py [--isolation bubblewrap] [--calls 100]

The programs are a print, a sympy equation, and the equation with a variable of a turn before. Times
are of the wall, the median and the least, with the median CPU time of the program's own process; on
a busy machine look at the latter two. A fresh interpreter that imports sympy is there to compare.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from statistics import median

from sampo_envs.tir_math import Limits, LocalSandbox

PROGRAMS: dict[str, tuple[str, list[str]]] = {
    "print": ("print(6 * 7)", []),
    "sympy": ("from sympy import *\nx = symbols('x')\nprint(solve(x**2 - 5 * x + 6, x))", []),
    "sympy, kept state": (
        "print(solve(x**2 - 5 * x + 6, x))",
        ["from sympy import *\nx = symbols('x')"],
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--isolation", default="auto")
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--parallel", type=int, default=2, help="sandboxes beside each other")
    options = parser.parse_args()
    sandbox = LocalSandbox(isolation=options.isolation)
    began = time.perf_counter()
    level = sandbox.level()
    print(f"isolation {level}, cold start {time.perf_counter() - began:.2f} s")
    for name, (program, earlier) in PROGRAMS.items():
        walls_ms: list[float] = []
        cpus_ms: list[float] = []
        for _ in range(options.calls):
            began = time.perf_counter()
            result = sandbox(program, earlier)
            walls_ms.append(1000 * (time.perf_counter() - began))
            cpus_ms.append(1000 * result.cpu_s)
            assert result.outcome == "finished", result
        wall_ms, cpu_ms = median(walls_ms), median(cpus_ms)
        print(f"{name}: {wall_ms:.1f} ms (least {min(walls_ms):.1f}), {cpu_ms:.1f} ms of CPU in it")
    parallel(sandbox, options.parallel, options.calls)
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", PROGRAMS["sympy"][0]], check=True, capture_output=True)
    print(f"a fresh interpreter, for comparison: {1000 * (time.perf_counter() - began):.0f} ms")


def parallel(sandbox: LocalSandbox, count: int, calls: int) -> None:
    """Time several sandboxes beside each other, as many worker processes have them."""
    # Servers are shared by equal settings: a different limit makes a server of its own.
    limits = sandbox.limits
    sandboxes = [
        replace(sandbox, limits=Limits(wall_s=limits.wall_s + number)) for number in range(count)
    ]
    for one in sandboxes:
        one.level()

    def run(one: LocalSandbox) -> None:
        for _ in range(calls):
            one(*PROGRAMS["sympy"])

    began = time.perf_counter()
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(run, sandboxes))
    wall_s = time.perf_counter() - began
    print(f"sympy, {count} sandboxes at once: {count * calls / wall_s:.0f} a second")


if __name__ == "__main__":
    main()
