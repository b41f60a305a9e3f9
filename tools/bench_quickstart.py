"""Does the quickstart learn? Runs it over seeds and writes figures and a picture.

    OMP_NUM_THREADS=1 python tools/bench_quickstart.py --seeds 0 1 2 --output runs/bench_quickstart

The curves are on the validation levels of each run (those that settings were chosen on); the
figures at the end are on test levels that no run and no choice has seen, for the clone and for the
last checkpoint of each seed. Needs the extra `plot`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def sampo(*args: str) -> None:
    """Run a sampo command and stop where it fails."""
    subprocess.run([sys.executable, "-m", "sampo", *args], check=True)


def newest(folder: Path) -> Path:
    """Return the latest run folder."""
    return max(folder.glob("version_*"), key=lambda path: path.stat().st_mtime)


def curve(run: Path, name: str) -> list[tuple[int, float]]:
    """Return (update, value) of a logged metric."""
    events = EventAccumulator(str(run), size_guidance={"scalars": 0})
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars(name)]


def test_report(output: Path, logs: Path, tasks: int, *args: str) -> dict[str, Any]:
    """Evaluate on test levels and return the report."""
    where = f"--trainer.logger.init_args.save_dir={logs}"
    size = f"--data.evaluation.num_tasks={tasks}"
    sampo("evaluate", *args, where, size, "--split=test", f"--output={output}")
    return json.loads(output.read_text())


def train(seed: int, output: Path, tasks: int) -> dict[str, Any]:
    """Run the quickstart with one seed and return what came out."""
    logs = output / f"seed_{seed}"
    started = time.perf_counter()
    where = f"--trainer.logger.init_args.save_dir={logs}"
    sampo("fit", "--config", "quickstart", f"--seed_everything={seed}", where)
    seconds = time.perf_counter() - started
    run = newest(logs / "quickstart")
    saved = ["--config", str(run / "config.yaml"), f"--ckpt_path={run}/checkpoints/last.ckpt"]
    report = test_report(output / f"test_seed_{seed}.json", logs / "evaluation", tasks, *saved)
    busy = sum(v for name in ("rollout", "update") for _, v in curve(run, f"time/{name}_s"))
    return {
        "seed": seed,
        "seconds": round(seconds, 1),
        "training_seconds": round(busy, 1),
        "validation": curve(run, "eval/success_rate"),
        "test_success": report["totals"]["success_rate"],
        "test_interval": [report["success_low"], report["success_high"]],
    }


def draw(results: list[dict[str, Any]], path: Path) -> None:
    """Plot success on held-out levels against updates, one line per seed and their median."""
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for result in results:
        steps, values = zip(*result["validation"], strict=True)
        axes.plot(steps, values, color="#9db8d9", linewidth=1.2)
    steps = [step for step, _ in results[0]["validation"]]
    medians = [
        statistics.median(result["validation"][i][1] for result in results)
        for i in range(len(steps))
    ]
    axes.plot(steps, medians, color="#1f4e8c", linewidth=2.5, label=f"median of {len(results)}")
    axes.axhline(medians[0], color="#b04a3a", linestyle="--", linewidth=1.2, label="clone")
    axes.set(
        xlabel="update",
        ylabel="success on held-out levels",
        ylim=(0, 1),
        title="SAMPO on Sokoban, nano policy, CPU",
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(path, dpi=130)


def main() -> None:
    """Run all seeds and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--output", type=Path, default=Path("runs/bench_quickstart"))
    parser.add_argument("--tasks", type=int, default=512, help="test levels")
    parser.add_argument("--only-draw", action="store_true", help="from results that are there")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    clone_file = args.output / "test_clone.json"
    if not args.only_draw:
        logs = args.output / "clone"
        test_report(clone_file, logs, args.tasks, "--config", "quickstart")
    clone = json.loads(clone_file.read_text())
    results = []
    for seed in args.seeds:
        file = args.output / f"result_seed_{seed}.json"
        if not args.only_draw:
            file.write_text(json.dumps(train(seed, args.output, args.tasks), indent=2))
        results.append(json.loads(file.read_text()))
    draw(results, args.output / "quickstart.png")
    start = clone["totals"]["success_rate"]
    print(f"clone: {start:.3f} [{clone['success_low']:.3f}, {clone['success_high']:.3f}]")
    for result in results:
        low, high = result["test_interval"]
        print(
            f"seed {result['seed']}: test {result['test_success']:.3f} [{low:.3f}, {high:.3f}], "
            f"last validation {result['validation'][-1][1]:.3f}, "
            f"{result['training_seconds']:.0f} s of rollouts and updates"
        )
    tests = [result["test_success"] for result in results]
    print(
        f"median {statistics.median(tests):.3f} (from {min(tests):.3f} to {max(tests):.3f}), "
        f"{statistics.median(tests) - start:+.3f} over the clone"
    )


if __name__ == "__main__":
    main()
