"""How early collapses are seen, how often there is a false alarm, and what acting on one saves.

    OMP_NUM_THREADS=1 python tools/bench_collapse.py record --seeds 10 11 12 13 14 15 16 17 18 19
    python tools/bench_collapse.py judge

`record` trains the nano policy once per scenario and seed (a minute or two each; runs that are
there are not made again). `judge` reads the curves of all runs, replays the default rules over
them, and prints for each run when the stage `collapsing` was entered and when success (median of
five updates) had fallen below half of its best and stayed there. A run counts as healthy if that
never happened and its valid-action rate never fell below half of its best either.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from statistics import mean, median
from typing import Any

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from sampo.collapse import CollapseMonitor, Stage, default_rules

COMMON = """--data.max_filter_rounds 1 --data.groups_per_update 8 --data.updates_per_epoch {updates}
--trainer.max_epochs 1 --trainer.limit_val_batches 0 --trainer.num_sanity_val_steps 0
--model.lr_schedule constant --model.warmup_updates 0"""
TOLERANT = """--config algorithms/grpo --model.loss.kl_coef 0
--model.learning_rate 2.5e-3 --model.warmup_updates 60
--model.loss.surrogate.init_args.clip_low 0.9 --model.loss.surrogate.init_args.clip_high 5
--model.loss.surrogate.init_args.dual_clip null"""
GUARD = f"--config {Path(__file__).parent / 'collapse_guard.yaml'}"
SCENARIOS: dict[str, tuple[str, str]] = {
    # The quickstart's method, and GRPO.
    "sampo": ("healthy", "--model.learning_rate 2e-4"),
    "grpo": ("healthy", "--config algorithms/grpo --model.learning_rate 1e-4"),
    # A reward hack: turns that are wasted on purpose pay.
    "poisoned": (
        "collapse",
        "--data.env poisoned_sokoban.PoisonedSokoban --data.env.bonus 1.5 "
        "--model.learning_rate 1e-4",
    ),
    # Replies without form cost nothing, and entropy pays a little.
    "formless": (
        "collapse",
        "--config algorithms/grpo --data.invalid_action_penalty 0 --model.loss.kl_coef 0 "
        "--model.loss.entropy_coef 0.08 --model.learning_rate 1e-4",
    ),
    # Clipping that stops nothing, no KL, and a learning rate that rises until it is too high.
    "tolerant": ("collapse", TOLERANT),
    "guarded": ("guarded", f"{TOLERANT} {GUARD}"),
}


def record(folder: Path, name: str, seed: int, updates: int) -> None:
    """Train one run, unless it is there."""
    target = folder / name / f"seed_{seed}"
    if (target / "done").exists():
        return
    target.mkdir(parents=True, exist_ok=True)
    options = f"{COMMON.format(updates=updates)} {SCENARIOS[name][1]}".split()
    command = [sys.executable, "-m", "sampo", "fit", "--config", "quickstart", *options]
    command += ["--seed_everything", str(seed), "--trainer.logger.init_args.save_dir", str(target)]
    tools = str(Path(__file__).parent)
    paths = os.pathsep.join([tools, os.environ.get("PYTHONPATH", "")])
    with (target / "log.txt").open("w") as log:
        subprocess.run(
            command, check=True, stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": paths}
        )
    (target / "done").touch()


def series(target: Path) -> dict[str, list[float]]:
    """Return every curve of a run."""
    (events,) = target.glob("*/version_0")
    curves = EventAccumulator(str(events), size_guidance={"scalars": 0})
    curves.Reload()
    return {name: [e.value for e in curves.Scalars(name)] for name in curves.Tags()["scalars"]}


def half_lost_at(success: list[float]) -> int | None:
    """Return the update (from 1) at which success was halved for good; None: it was not."""
    medians = [median(success[max(i - 4, 0) : i + 1]) for i in range(len(success))]
    best = max(medians[4:])
    if mean(success[-10:]) >= best / 2:
        return None
    last_good = max(i for i, value in enumerate(medians) if value >= best / 2)
    return last_good + 2


def form_lost(valid: list[float]) -> bool:
    """Return whether replies lost their form for a while: a collapse that the run got over."""
    return any(median(valid[i : i + 3]) < max(valid) / 2 for i in range(len(valid) - 2))


def collapsing_at(curves: dict[str, list[float]]) -> tuple[int | None, str]:
    """Return the update at which the rules say `collapsing`, and the rules that say so."""
    monitor, said = CollapseMonitor(rules=default_rules()), []
    for i in range(len(curves["rollout/success_rate"])):
        signals = {name: values[i] for name, values in curves.items() if i < len(values)}
        said += [alarm.rule for alarm in monitor.update(i + 1, signals)]
        if monitor.stage >= Stage.COLLAPSING:
            return i + 1, ", ".join(said)
    return None, ", ".join(said)


def judge(folder: Path, lead: int) -> None:
    """Print when every run was found out, and the two rates."""
    early: list[bool] = []
    false: list[bool] = []
    for name, (kind, _) in SCENARIOS.items():
        for target in sorted((folder / name).glob("seed_*")):
            if not (target / "done").exists():
                continue
            curves = series(target)
            success = curves["rollout/success_rate"]
            lost, (seen, rules) = half_lost_at(success), collapsing_at(curves)
            end = f"ends at {mean(success[-10:]):.2f}"
            print(f"{name:10} {target.name:8} halved {lost}, seen {seen}, {end}  [{rules}]")
            if lost is not None:
                early.append(seen is not None and seen <= lost - lead)
            elif kind == "healthy" and not form_lost(curves["rollout/valid_action_rate"]):
                false.append(seen is not None)
    print(f"collapses seen at least {lead} updates before: {sum(early)} of {len(early)}")
    print(f"false alarms on healthy runs: {sum(false)} of {len(false)}")


def main() -> None:
    """Record or judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("record", "judge"))
    parser.add_argument("--folder", type=Path, default=Path("runs/collapse"))
    parser.add_argument("--scenarios", nargs="+", default=list(SCENARIOS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(10, 20)))
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--lead", type=int, default=5)
    options: Any = parser.parse_args()
    if options.what == "judge":
        judge(options.folder, options.lead)
        return
    for seed in options.seeds:
        for name in options.scenarios:
            record(options.folder, name, seed, options.updates)


if __name__ == "__main__":
    main()
