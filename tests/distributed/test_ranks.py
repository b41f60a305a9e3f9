"""Two processes (gloo, started once by torchrun) train as one does, replicated and sharded.

The groups are uneven (three for two ranks), a filter drops some of them, so that rounds are played
in which one rank has nothing; updates have fewer rows than ranks; gradients are clipped.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.distributed import parity

from tiny import save_tiny_policy

HERE = Path(__file__).parent
RANKS = (0, 1)
Results = dict[tuple[str, str, int], dict[str, Any]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Return what each run gave on each rank; a single process is rank 0 of `single`."""
    folder = tmp_path_factory.mktemp("ranks")
    policy = save_tiny_policy(folder / "policy")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    paths = os.pathsep.join([str(HERE.parent), str(HERE.parents[1]), *sys.path])
    done = subprocess.run(
        [*launch, str(HERE / "parity.py"), policy, str(folder)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: Results = {}
    for scenario in parity.SCENARIOS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PL_GLOBAL_SEED", "0")  # what a run leaves there ends with this
            found["single", scenario, 0] = parity.run(policy, scenario, "single", folder)
        for strategy in parity.STRATEGIES:
            for rank in RANKS:
                file = folder / f"{strategy}_{scenario}_rank{rank}.pt"
                found[strategy, scenario, rank] = torch.load(file, weights_only=True)
    for rank in RANKS:
        found["exchange", "", rank] = torch.load(
            folder / f"exchange_rank{rank}.pt", weights_only=True
        )
    return found


CASES = [
    (strategy, scenario, rank)
    for strategy in parity.STRATEGIES
    for scenario in parity.SCENARIOS
    for rank in RANKS
]


@pytest.mark.parametrize("case", CASES, ids=["-".join(map(str, case)) for case in CASES])
def test_five_updates_are_those_of_one_process(results: Results, case: tuple) -> None:
    """Losses, gradients, whole grad norms, parameters: within 1e-5 in float32."""
    alone, ours = results["single", case[1], 0], results[case]
    assert len(ours["pages"]) == len(alone["pages"]) == parity.UPDATES
    for page, expected in zip(ours["pages"], alone["pages"], strict=True):
        close = {k: pytest.approx(v, rel=1e-5, abs=1e-5) for k, v in smooth(expected).items()}
        assert smooth(page) == close
    assert len(ours["gradients"]) == len(alone["gradients"]) >= parity.UPDATES
    for gradients, expected in zip(ours["gradients"], alone["gradients"], strict=True):
        torch.testing.assert_close(gradients, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(ours["weights"], alone["weights"], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(ours["state"], alone["state"], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(ours["shipped"], alone["shipped"], rtol=1e-5, atol=1e-5)
    for name, weight in ours["shipped"].items():  # what an engine got is what this rank trained
        assert torch.equal(weight, ours["weights"][f"model.{name}"]), name
    assert ours["eval"] == alone["eval"]


def smooth(page: dict[str, float]) -> dict[str, float]:
    """Leave out counts of ratios above and below 1, on which rounding decides."""
    return {k: v for k, v in page.items() if not k.startswith("cells") and not math.isnan(v)}


def test_the_runs_are_the_hard_ones_that_the_docstring_promises(results: Results) -> None:
    rollouts = results["single", "rollouts", 0]
    assert {page["rollout/rounds"] for page in rollouts["pages"]} >= {2.0, 3.0}
    norms = [
        math.sqrt(sum(float(g.square().sum()) for g in step.values()))
        for step in rollouts["gradients"]
    ]
    assert norms == pytest.approx([0.1] * len(norms), rel=1e-3)  # all were clipped
    given = results["single", "given", 0]
    assert [page["rows"] for page in given["pages"]] == [9, 5, 3, 2, 1]
    assert any(0 < page["masked_turn_fraction"] < 1 for page in given["pages"])
    change = given["weights"]["value_head.weight"]
    assert float(change.abs().max()) > 1e-3  # it started at zero


def test_both_ranks_end_with_the_same_bits(results: Results) -> None:
    for strategy in parity.STRATEGIES:
        for scenario in parity.SCENARIOS:
            first, second = (results[strategy, scenario, rank] for rank in RANKS)
            for name, weight in first["weights"].items():
                assert torch.equal(weight, second["weights"][name]), (strategy, scenario, name)


def test_work_is_shared_and_everybody_knows_the_results(results: Results) -> None:
    for rank in RANKS:
        got = results["exchange", "", rank]
        assert got["shared"] == [f"group {number}" for number in range(5)]
        assert got["single"] == ["group 7"]
        assert got["none"] == []
        assert got["played"] == ([0, 2, 4, 7] if rank == 0 else [1, 3])
        assert got["sum"] == [2.0, 1.0]


def test_what_fails_on_one_rank_is_raised_on_all_and_they_stay_in_step(results: Results) -> None:
    for rank in RANKS:
        got = results["exchange", "", rank]
        assert got["failure"] == "The environment of rank 1 broke."
        assert got["told"]
        assert got["after the failure"] == [0, 1]
