"""The scripts behind docs/scaling.md: they run here, and the page says what they print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "scaling.md").read_text()


def run(*command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=check
    )


def test_the_plan_in_the_page_is_what_the_script_computes() -> None:
    """Every row of the two tables, number by number."""
    lines = [line for line in run("tools/plan_scaling.py").stdout.splitlines() if "GPUs" in line]
    printed = [re.findall(r"[\d.,]*\d", line) for line in lines]
    rows = [
        line.split("|") for line in PAGE.splitlines() if re.match(r"\| (Qwen3-\dB )?\| \d", line)
    ]
    assert len(rows) == 11
    for row in rows:
        numbers = [cell.strip(" *h") for cell in row[2:-1]]
        # In the page the sum comes last but for the speed; in the output it comes first.
        assert any(sorted(numbers) == sorted(expected(found)) for found in printed), numbers


def expected(found: list[str]) -> list[str]:
    """Return a printed line's numbers as the page has them: memory is summed up in whole GB."""
    memory = len(found) == 9
    total = [f"{float(found[1]):.0f}"] if memory else [found[1]]
    return [found[0], *total, *(n for n in found[2:] if memory or n != "200")]


def test_the_plan_by_hand() -> None:
    """Qwen3-4B has 4.02e9 weights: AdamW's moments take 8 bytes of each, on 8 GPUs 4.0 GB."""
    output = run("tools/plan_scaling.py").stdout
    assert "Qwen3-4B: 4.02e9 weights" in output and "Qwen3-8B: 8.19e9 weights" in output
    line = next(line for line in output.splitlines() if line.startswith("   8 GPUs"))
    assert "Adam 4.0" in line and "engine 8.0" in line


@pytest.mark.slow
def test_the_gpu_check_runs_its_parts_on_a_cpu_and_says_so() -> None:
    output = run("tools/gpu_check.py", "--cpu").stdout
    assert "NOT a check of a GPU" in output
    assert "5 parts" in output and "0 failed" in output
    for part in ("quickstart", "update, plain", "update, padded", "update, packed", "vLLM sync"):
        assert re.search(rf"^{part} +ok ", output, re.MULTILINE), output


@pytest.mark.slow
def test_the_gpu_check_fails_where_a_part_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without peft, transformers and all: a `sampo` that is none stands first on the path."""
    (tmp_path / "sampo").mkdir()
    (tmp_path / "sampo" / "__init__.py").write_text("raise RuntimeError('broken on purpose')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = run("tools/gpu_check.py", "--cpu", check=False)
    assert done.returncode == 1
    assert "FAILED" in done.stdout and "broken on purpose" in done.stdout


@pytest.mark.slow
def test_the_curves_are_measured_and_drawn(tmp_path: Path) -> None:
    figure = tmp_path / "curves.svg"
    small = ("--episodes", "16", "--rows", "4", "--length", "1024", "--figure", str(figure))
    output = run("tools/bench_scaling.py", *small).stdout
    assert output.count("grows with the power") == 1 + 1 + 1 + 1
    assert figure.stat().st_size > 1000
