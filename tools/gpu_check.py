"""What tools/gpu_check.sh runs: every part in a process of its own, with a limit of time.

    python tools/gpu_check.py [--cpu]

1. the quickstart's nano policy trains on the device for a few updates;
2. an update of a random model of Qwen3-0.6B's shape in bfloat16, the plain way: rows as they come,
   full log-softmax over all positions;
3. the same by sampo, rows sorted by length and padded;
4. the same, rows packed;
5. weights go to vLLM and are proven to have arrived, if vLLM can be imported.

On a CPU (no GPU, or --cpu) the parts are the same and the models tiny: that shows that the script
works, and says nothing about a GPU.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

Row = tuple[str, str, str]  # part, outcome, figures
GPU_UPDATE = ["--shape", "qwen3-0.6b", "--rows", "48", "--turn", "160", "--budget", "8192"]
CPU_UPDATE = ["--vocabulary", "2048", "--rows", "4", "--turn", "20", "--budget", "1024", "--cpu"]
LIMIT_S = 475.0
"""Of all parts together: under 8 minutes."""
BEGUN = time.perf_counter()


class PartError(Exception):
    """A part did not do what it should; the message is for the table."""


def run(command: list[str], limit_s: float) -> str:
    """Run a part; return what it printed."""
    limit_s = min(limit_s, LIMIT_S - (time.perf_counter() - BEGUN))
    if limit_s <= 0:
        raise PartError(f"not begun: the other parts took {LIMIT_S:.0f} s")
    try:
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise PartError(f"took more than {limit_s:.0f} s") from error
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        last = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        raise PartError(f"exit status {done.returncode}: {last[-1][:120]}")
    return done.stdout


def quickstart(on_gpu: bool) -> str:
    """Train the nano policy for two updates, or five on a GPU."""
    updates, tasks = ("5", "64") if on_gpu else ("2", "4")
    with tempfile.TemporaryDirectory() as folder:
        command = ["-m", "sampo", "fit", "--config", "quickstart", "--trainer.max_epochs", "1"]
        command += ["--data.updates_per_epoch", updates, "--data.evaluation.num_tasks", tasks]
        command += ["--trainer.accelerator", "gpu" if on_gpu else "cpu"]
        command += [] if on_gpu else ["--data.groups_per_update", "2", "--data.group_size", "4"]
        start = time.perf_counter()
        run([*command, "--trainer.logger.save_dir", folder], 200)
        seconds = time.perf_counter() - start
        if not list(Path(folder).glob("*/version_0/hf/model.safetensors")):
            raise PartError("the run left no policy behind")
    return f"{updates} updates and 2 evaluations in {seconds:.0f} s, imports included"


def update(on_gpu: bool, version: str, packing: str = "off") -> dict[str, Any]:
    """Measure an update; see tools/bench_update.py."""
    options = GPU_UPDATE if on_gpu else CPU_UPDATE
    command = ["tools/bench_update.py", *options, "--version", version, "--packing", packing]
    found = json.loads(run([*command, "--repeats", "3" if on_gpu else "1"], 110).splitlines()[-1])
    if packing == "on" and not found["packed"]:
        raise PartError("rows could not be packed; run it with --packing on to read why")
    return found


def described(found: dict[str, Any], plain: dict[str, Any] | None) -> str:
    """Return the figures of an update, and how they compare with the plain way's."""
    text = f"{found['tokens'] / found['seconds']:,.0f} tokens/s, {found['peak_mb'] / 1e3:.2f} GB"
    text += f", MFU {found['mfu']:.1%}" if found["mfu"] else ""
    if plain is None or plain is found:
        return text
    gap = abs(found["norm"] - plain["norm"]) / plain["norm"]
    if gap > (0.05 if "NVIDIA" in found["device"] else 1e-3):
        raise PartError(f"its gradient norm differs by {gap:.1%} from the plain way's")
    speed, memory = plain["seconds"] / found["seconds"], found["peak_mb"] / plain["peak_mb"]
    return f"{text}; {speed:.2f} x the plain way's speed, {memory:.2f} x its memory"


def sync(on_gpu: bool) -> str:
    """Send weights to vLLM three times; every sync checks sums and a probe by itself."""
    if find_spec("vllm") is None:
        return "left out: vLLM is not installed"
    shape = "qwen3-0.6b" if on_gpu else "small"
    return run(["tools/bench_sync.py", "--shape", shape], 180).splitlines()[-1]


def parts(on_gpu: bool) -> list[Row]:
    """Run everything; what fails is told and does not stop the rest."""
    rows: list[Row] = []
    found: dict[str, dict[str, Any]] = {}

    def part(name: str, work: Any) -> None:
        try:
            rows.append((name, "ok", work()))
        except PartError as error:
            rows.append((name, "FAILED", str(error)))
        print(*rows[-1], sep="  ", flush=True)

    def measured(name: str, *version: str) -> str:
        found[name] = update(on_gpu, *version)
        return described(found[name], found.get("plain"))

    part("quickstart", lambda: quickstart(on_gpu))
    part("update, plain", lambda: measured("plain", "plain"))
    part("update, padded", lambda: measured("padded", "sampo", "off"))
    part("update, packed", lambda: measured("packed", "sampo", "on"))
    part("vLLM sync", lambda: sync(on_gpu))
    return rows


def main() -> None:
    """Print the table; exit with 1 if a part failed."""
    parser = argparse.ArgumentParser(description="See the docstring.")
    parser.add_argument("--cpu", action="store_true", help="even if there is a GPU")
    args = parser.parse_args()
    on_gpu = torch.cuda.is_available() and not args.cpu
    device = torch.cuda.get_device_name() if on_gpu else "CPU, tiny models: NOT a check of a GPU"
    print(f"torch {torch.__version__}, {device}", flush=True)
    start = time.perf_counter()
    rows = parts(on_gpu)
    width = max(len(name) for name, _, _ in rows)
    print()
    for name, outcome, figures in rows:
        print(f"{name:<{width}}  {outcome:<6}  {figures}")
    failed = sum(outcome != "ok" for _, outcome, _ in rows)
    print(f"\n{len(rows)} parts in {time.perf_counter() - start:.0f} s, {failed} failed ({device})")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
