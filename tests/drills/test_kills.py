"""Kills at random moments: every run goes on, and ends as if nothing had happened.

SAMPO_KILLS is how many per test; 30 by default. See `kill_drill` for what a moment is.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

TESTS = Path(__file__).parents[1]
KILLS = int(os.environ.get("SAMPO_KILLS", "30"))


def drill(capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    """Run the drill; return its lines."""
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, str(TESTS / "drills" / "kill_drill.py"), *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.strip().splitlines()
    with capsys.disabled():
        print(f"\n{lines[-1]}")  # noqa: T201
    return lines


@pytest.mark.parametrize("processes", [1, 2])
def test_killed_and_resumed_on_as_many_processes(
    processes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = drill(capsys, f"--moments={KILLS}", f"--processes={processes}")
    fell = {match[1] for line in lines if (match := re.search(r"'fell': '(\w+)'", line))}
    assert fell >= {"rollout", "update", "save"} or KILLS < 9
    assert lines[-1].endswith(f"{KILLS} resumed and ended as expected")


@pytest.mark.parametrize("name", ["INT", "TERM"])
def test_several_processes_that_are_told_to_stop_agree_on_the_update(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    drill(capsys, "--moments=3", "--processes=2", f"--signal={name}")


@pytest.mark.parametrize(("processes", "resumed_on"), [(1, 2), (2, 1)])
def test_killed_and_resumed_on_another_number(
    processes: int, resumed_on: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same episodes are trained on, and sums differ in their order only."""
    lines = drill(capsys, "--moments=3", f"--processes={processes}", f"--resumed_on={resumed_on}")
    apart = [
        float(match[1]) for line in lines if (match := re.search(r"'apart': ([\d.e-]+)", line))
    ]
    assert len(apart) == 3 and max(apart) < 1e-4
