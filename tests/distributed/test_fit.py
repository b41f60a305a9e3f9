"""`sampo fit` on two devices of the CPU: files, resuming, being killed and being stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from sampo.checkpoint import load_checkpoint
from sampo.data.episode_log import read_episodes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]

SMALL = [
    "--config=quickstart",
    "--data.groups_per_update=3",
    "--data.group_size=4",
    "--data.updates_per_epoch=2",
    "--data.evaluation.num_tasks=8",
    "--model.num_mini_batches=2",
]


def command(folder: Path, strategy: str, *options: str) -> list[str]:
    where = f"--trainer.logger.init_args.save_dir={folder}"
    fit = [sys.executable, "-m", "sampo", "fit", *SMALL, f"--config=trainer/{strategy}"]
    return [*fit, where, *options]


def fit(folder: Path, strategy: str, *options: str) -> str:
    done = subprocess.run(
        command(folder, strategy, *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def test_a_run_leaves_the_files_of_one_process_and_goes_on_elsewhere(tmp_path: Path) -> None:
    """Replicated, then sharded from its checkpoint in two ways, then alone from that."""
    said = fit(tmp_path, "ddp", "--trainer.max_epochs=1")
    assert said.count("Finished after 2 updates") == 1
    run = tmp_path / "quickstart" / "version_0"
    assert [path.name for path in run.parent.iterdir()] == ["version_0"]
    assert len(list(run.glob("events.out.tfevents*"))) == 1
    names = {path.name for path in (run / "episodes").iterdir()}
    assert {"update_000000.jsonl", "update_000000.tokens.safetensors"} <= names
    assert not [name for name in names if "rank" in name or "partial" in name]
    records = read_episodes(run / "episodes" / "update_000000.jsonl")
    assert len(records) >= 3 * 4  # of both ranks
    assert len(read_episodes(run / "episodes" / "validation_000002.jsonl")) == 8
    for number, strategy in enumerate(("fsdp", "fsdp1", "cpu"), start=1):
        last = run.parent / f"version_{number - 1}" / "checkpoints" / "last.ckpt"
        epochs = f"--trainer.max_epochs={number + 1}"
        said = fit(tmp_path, strategy, epochs, f"--ckpt_path={last}")
        assert said.count(f"Finished after {2 * (number + 1)} updates") == 1
        run = run.parent / f"version_{number}"
        state = load_checkpoint(run / "checkpoints" / "last.ckpt")["state_dict"]
        model = AutoModelForCausalLM.from_pretrained(run / "hf")
        for name, weight in model.named_parameters():
            assert torch.equal(weight, state[f"policy.model.{name}"]), name


@pytest.mark.parametrize(
    ("strategy", "victim"),
    [("ddp", "first"), ("ddp", "second"), ("fsdp", "second"), ("fsdp1", "first")],
)
def test_a_killed_rank_ends_the_run_with_one_error_and_it_resumes(
    tmp_path: Path, strategy: str, victim: str
) -> None:
    ranks, log = started(tmp_path, strategy)
    os.kill(ranks[victim == "second"], signal.SIGKILL)
    seconds = wait_for_all(ranks)
    assert seconds < 60
    errors = [line for line in log.read_text().splitlines() if "sampo: error" in line]
    assert len(errors) == 1, log.read_text()
    assert "--ckpt_path last" in errors[0]
    said = fit(tmp_path, strategy, "--trainer.max_epochs=2", "--ckpt_path=last")
    assert "Finished after 4 updates" in said


def test_all_ranks_stop_after_the_same_update_when_a_scheduler_says_so(tmp_path: Path) -> None:
    ranks, log = started(tmp_path, "ddp")
    for pid in ranks:
        os.kill(pid, signal.SIGTERM)
    assert wait_for_all(ranks) < 60, log.read_text()
    assert "sampo: error" not in log.read_text()
    last = tmp_path / "quickstart" / "version_0" / "checkpoints" / "last.ckpt"
    assert load_checkpoint(last)["sampo"]["update_step"] < 20


def started(folder: Path, strategy: str) -> tuple[list[int], Path]:
    """Return the process ids of the ranks of a long run after its first update, and its log."""
    log = folder / "log.txt"
    with log.open("w") as lines:
        first = subprocess.Popen(
            command(folder, strategy, "--trainer.max_epochs=100"),
            stdout=lines,
            stderr=subprocess.STDOUT,
        )
    while "update 1/" not in log.read_text():
        assert first.poll() is None, log.read_text()
        time.sleep(0.5)
    children = Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split()
    ranked = [int(pid) for pid in children if b"LOCAL_RANK=1" in environment(int(pid))]
    assert len(ranked) == 1
    PROCESSES[first.pid] = first
    return [first.pid, ranked[0]], log


PROCESSES: dict[int, subprocess.Popen[bytes]] = {}


def environment(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def wait_for_all(pids: list[int]) -> float:
    """Return how long it takes until none of the processes is there."""
    begun = time.monotonic()
    while any(alive(pid) for pid in pids):
        if time.monotonic() - begun > 120:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            pytest.fail("The run did not end within two minutes.")
        time.sleep(0.2)
    return time.monotonic() - begun


def alive(pid: int) -> bool:
    if pid in PROCESSES:
        return PROCESSES[pid].poll() is None
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
