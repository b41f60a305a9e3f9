"""Compare losses, KL estimators and advantages with reference vectors, by the public objects.

`python tools/conformance.py FILE.json.gz` prints one line per failing case and ends with the line
`N passed, N failed`; the exit status is 0 only if none failed.
"""

import gzip
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import torch
from conformance_cases import Case, Checks, check_advantage, check_loss, tensor

from sampo.losses import KLPenalty

RELATIVE = 1e-5


def check_kl(case: Case) -> Checks:
    """Yield the name, our value and the reference of the results of one KL case."""
    logprobs, reference = tensor(case["log_prob"]).requires_grad_(), tensor(case["ref_log_prob"])
    value = KLPenalty(kind=case["kind"])(logprobs, reference, torch.zeros_like(reference))
    yield "kl", value, case["kl"]
    yield "grad", torch.autograd.grad(value.sum(), logprobs)[0], case["grad"]


CHECKS = {"losses": check_loss, "kl": check_kl, "advantages": check_advantage}


def rounding(case: Case) -> float:
    """Return how far the single precision of the reference advantages may be off.

    One step of a mean of scores (2^-23 of the largest), divided by the least spread of a pool:
    scores of 10 and 9.9 alone make that more than the relative tolerance.
    """
    pools: dict[object, list[float]] = defaultdict(list)
    keys = ("group", "anchor", "episode_score_penalised", "step_score")
    for group, anchor, whole, step in zip(*(case[key] for key in keys), strict=True):
        pools[group].append(whole)
        pools[group, anchor].append(step)
    spreads = [statistics.stdev(pool) for pool in pools.values() if len(set(pool)) > 1]
    largest = max(abs(score) for pool in pools.values() for score in pool)
    return 2**-23 * largest / min([*spreads, 1.0])


def differences(kind: str, case: Case) -> list[str]:
    """Return what is wrong with one case; empty if it passes."""
    wrong: list[str] = []
    try:
        floor = RELATIVE + rounding(case) if kind == "advantages" else 1e-9
        for name, ours, reference in CHECKS[kind](case):
            theirs = tensor(reference)
            gap = (ours.detach() - theirs).abs()
            # Written so that a NaN counts as different.
            if not bool((gap <= floor + RELATIVE * theirs.abs()).all()):
                wrong.append(f"{name} is off by {gap.max().item():.3g}")
    except (KeyError, ValueError, RuntimeError, TypeError) as error:
        wrong.append(f"{type(error).__name__}: {error}")
    return wrong


def main(path: str) -> int:
    """Check every case of a file and return the exit status."""
    with gzip.open(Path(path), "rt") as file:
        cases: dict[str, list[Case]] = json.load(file)
    if unknown := set(cases) - set(CHECKS):
        print(f"not a list of cases that is known: {', '.join(sorted(unknown))}")
    passed = failed = 0
    for kind in CHECKS:
        for number, case in enumerate(cases.get(kind, [])):
            wrong = differences(kind, case)
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong:
                name = case.get("loss_name") or case.get("estimator") or case.get("kind")
                print(f"{kind}[{number}] {name}: {'; '.join(wrong)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or unknown or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
