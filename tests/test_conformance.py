"""The paper's own functions against ours: every case of the reference file."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VECTORS = ROOT / "tests" / "data" / "conformance" / "reference_vectors.json.gz"


def conformance(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "conformance.py"), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def vectors() -> dict[str, list]:
    with gzip.open(VECTORS, "rt") as file:
        return json.load(file)


def test_every_case_passes(vectors):
    result = conformance(VECTORS)
    count = sum(len(cases) for cases in vectors.values())
    assert result.stdout == f"{count} passed, 0 failed\n"
    assert result.returncode == 0, result.stderr


def test_what_is_wrong_is_named_and_fails(vectors, tmp_path):
    good, wrong, strange = (dict(case) for case in vectors["losses"][:3])
    wrong["loss"] = wrong["loss"] * (1 + 1e-3)
    strange["loss_name"] = "novel"
    path = tmp_path / "cases.json.gz"
    with gzip.open(path, "wt") as file:
        json.dump({"losses": [good, wrong, strange]}, file)
    result = conformance(path)
    first, second, last = result.stdout.splitlines()
    assert first.startswith("losses[1]")
    assert "loss is off by" in first
    assert "novel" in second
    assert last == "1 passed, 2 failed"
    assert result.returncode == 1
