"""Cost of running model-written programs: cold start, calls one after another, calls in parallel.

    OMP_NUM_THREADS=1 nice -n 5 python tools/bench_sandbox.py [--isolation bubblewrap] [--calls 100]

The programs are a print, a sympy equation, and the equation with a variable of a turn before. Times
are of the wall, with the CPU time of the program's own process beside them; on a busy machine look
at the latter. A fresh interpreter that imports sympy is shown for comparison.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

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
        began, cpu_s = time.perf_counter(), 0.0
        for _ in range(options.calls):
            result = sandbox(program, earlier)
            assert result.outcome == "finished", result
            cpu_s += result.cpu_s
        wall_s = (time.perf_counter() - began) / options.calls
        cpu_ms = 1000 * cpu_s / options.calls
        print(f"{name}: {1000 * wall_s:.1f} ms a call, {cpu_ms:.1f} ms of CPU in it")
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
