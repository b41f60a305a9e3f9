"""A hundred bad inputs: each gets one plain sentence, a non-zero exit, and no traceback."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from drills.bad_files import make_files
from drills.bad_inputs import CASES, Case
from sampo.cli import main
from small_run import small

pytestmark = pytest.mark.slow

_QUICK = ["--config=quickstart", *small("{policy}", "{save}", epochs=2)]
_CLONE = [
    "--config=envs/sokoban_nano",
    "--config=experiments/clone_sokoban_nano",
    "--trainer.logger.init_args.save_dir={save}",
]
_NO_NOISE = ("Seed set to", "Continuing from", "Restoring states", "usage:")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    root = tmp_path_factory.mktemp("bad")
    paths = make_files(root)
    sys.path.insert(0, str(root))
    yield paths
    sys.path.remove(str(root))


def filled(text: str, files: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: files[match[1]], text)


@pytest.mark.parametrize("bad", CASES, ids=lambda bad: bad.name)
def test_one_plain_sentence(
    bad: Case,
    files: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    args: list[str] = []
    for word in bad.args.split():
        options = {"{quick}": _QUICK, "{clone}": _CLONE}.get(word, [word])
        args += [filled(option, files) for option in options]
    with pytest.raises(SystemExit) as stop:
        main(args)
    assert stop.value.code in (1, 2)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.strip()]
    noise = [line for line in lines[:-1] if not line.startswith(_NO_NOISE)]
    assert not noise, noise
    sentence = lines[-1]
    assert sentence.startswith("sampo: error: ")
    assert len(sentence) <= 600
    missing = [word for word in bad.words if filled(word, files) not in sentence]
    assert not missing, sentence
    assert not (tmp_path / "exploded").exists()


def test_there_are_a_hundred_of_them() -> None:
    assert len(CASES) >= 100
    assert len({bad.name for bad in CASES}) == len(CASES)
