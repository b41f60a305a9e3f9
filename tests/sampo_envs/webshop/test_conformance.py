"""The tools: recorded sessions are replayed, and the catalogue is made again byte for byte."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sampo_envs.webshop import data_folder

TOOLS = Path(__file__).resolve().parents[3] / "tools"


def run(tool: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOLS / tool), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)


@pytest.fixture
def sessions(real_data: Path) -> Path:
    path = real_data / "sessions.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"the recorded sessions are not in {real_data}")
    return path


def test_all_recorded_sessions_pass(sessions: Path, real_data: Path) -> None:
    done = run("webshop_conformance.py", sessions, "--data", real_data)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "40 passed, 0 failed"
    assert "pages of results that our search gives equally: 62 of 62" in done.stdout


def test_every_kind_of_difference_is_seen(sessions: Path, real_data: Path, tmp_path: Path) -> None:
    line = gzip.decompress(sessions.read_bytes()).decode().splitlines()[0]

    def changed(change) -> str:
        session = json.loads(line)
        change(session)
        return json.dumps(session)

    other_results = changed(
        lambda s: (
            s["steps"][1]["avail"]["clickables"].reverse(),
            s["steps"][1].update(obs=s["steps"][1]["obs"].replace("Results: 50", "Results: 49")),
        )
    )
    files = [
        changed(lambda s: s["goal"].update(price_upper=41.0)),
        changed(lambda s: s["steps"][2].update(obs="something else")),
        changed(lambda s: s["steps"][2]["avail"]["clickables"].pop()),
        changed(lambda s: s["steps"][-1].update(reward=0.5)),
        changed(lambda s: s["steps"][0]["avail"].update(has_search_bar=False)),
        other_results,
        line,
    ]
    path = tmp_path / "sessions.jsonl"
    path.write_text("\n".join(files))
    done = run("webshop_conformance.py", path, "--data", real_data)
    assert done.stdout.splitlines()[-1] == "1 passed, 6 failed", done.stdout


def test_other_results_are_forced_and_reported_apart(
    sessions: Path, real_data: Path, tmp_path: Path
) -> None:
    session = json.loads(gzip.decompress(sessions.read_bytes()).decode().splitlines()[0])
    step = session["steps"][1]
    parts = step["obs"].split(" [SEP] ")
    head, items = parts[:5], [parts[i : i + 3] for i in range(5, len(parts), 3)]
    items[0], items[1] = items[1], items[0]
    step["obs"] = " [SEP] ".join([*head, *(text for item in items for text in item)])
    clicks = step["avail"]["clickables"]
    clicks[2], clicks[3] = clicks[3], clicks[2]
    path = tmp_path / "sessions.jsonl"
    path.write_text(json.dumps(session))
    done = run("webshop_conformance.py", path, "--data", real_data)
    assert done.stdout.splitlines() == [
        "pages of results that our search gives equally: 0 of 1",
        "1 passed, 0 failed",
    ]


def test_the_made_up_catalogue_is_what_its_script_makes(tmp_path: Path) -> None:
    done = run("make_webshop_catalogue.py", tmp_path)
    assert done.returncode == 0, done.stderr
    for path in data_folder("made-up").iterdir():
        again = tmp_path / path.name
        assert gzip.decompress(again.read_bytes()) == gzip.decompress(path.read_bytes())
