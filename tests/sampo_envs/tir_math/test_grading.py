"""Verdicts by hand, and what happens when there can be none."""

import gzip
import json
import os
import threading
import warnings
from pathlib import Path

import pytest

from sampo.errors import ConfigError, EnvFailure, MissingDependencyError
from sampo_envs.tir_math import Columns, MathGrader, grading
from sampo_envs.tir_math.files import read_problems

pytest.importorskip("math_verify", reason="grading needs the extra sampo[math]")

GRADER = MathGrader(timeout_s=60)
DATA = os.environ.get("SAMPO_MATH_DATA")


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (r"\frac{1}{2}", "0.5"),
        (r"\frac12", "1/2"),
        ("10", "10.0"),
        ("1,000", "1000"),
        (r"2\sqrt{3}", r"\sqrt{12}"),
        ("x^2-1", "(x-1)(x+1)"),
        ("(1,2)", "(1, 2)"),
        (r"\{1,2\}", r"\{2,1\}"),
        (r"\text{(A)}", r"\text{(A)}"),
        (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}"),
        ("nonsense here", "nonsense here "),
    ],
)
def test_right_answers(gold: str, answer: str) -> None:
    assert GRADER(gold, answer)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (r"\frac{1}{2}", "0.51"),
        ("10", "-10"),
        ("(1,2)", "(2,1)"),
        ("x+1", "x+2"),
        ("7", ""),
        ("7", "seven"),
        ("7", r"\frac{7"),
        ("7", "}} {{ \\\\ $ %"),
    ],
)
def test_wrong_answers(gold: str, answer: str) -> None:
    assert not GRADER(gold, answer)


def test_a_comparison_that_does_not_end_is_an_error_and_the_next_one_works() -> None:
    with pytest.raises(EnvFailure, match=r"could not be compared with '7': no answer within 2 s"):
        MathGrader(timeout_s=2)("7", r"9^{9^{9^{9}}} + \sqrt{2}")
    assert GRADER("7", "7.0")


def test_a_gold_answer_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(EnvFailure, match="the gold answer '' cannot be read"):
        GRADER("", "7")


def test_what_the_comparison_raises_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Raises:
        def ask(self, question: dict, timeout_s: float) -> dict:
            return {"error": "TypeError: odd"}

    monkeypatch.setattr(grading, "_worker", Raises)
    with pytest.raises(EnvFailure, match="TypeError: odd"):
        GRADER("7", "8")


def test_works_in_any_thread() -> None:
    verdicts: list[bool] = []
    threads = [
        threading.Thread(target=lambda n=n: verdicts.append(GRADER("8", f"{n}+4")))
        for n in (4, 4, 4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == [True] * 3


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    grading._worker.cache_clear()
    monkeypatch.setattr(grading, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sampo\[math\]'"):
        GRADER("7", "8")


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="timeout_s=0"):
        MathGrader(timeout_s=0)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(DATA is None, reason="SAMPO_MATH_DATA names no folder with MATH files")
def test_every_gold_answer_passes_its_own_grader() -> None:
    """All problem files in the folder, by math-verify itself and not by equality of texts."""
    worker = grading._worker()
    files = sorted(path for path in Path(DATA or "").iterdir() if is_problem_file(path))
    assert files
    failed = []
    for path in files:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows without an answer
            problems = read_problems(str(path), Columns())
        for row, problem in enumerate(problems):
            gold = problem.question.answer
            if worker.ask({"gold": gold, "answer": gold}, 60) != {"equal": True}:
                failed.append((path.name, row, gold))
    assert not failed


def is_problem_file(path: Path) -> bool:
    if path.name.endswith(".jsonl.gz"):
        with gzip.open(path, "rt") as stream:
            return "problem" in json.loads(stream.readline())
    return path.suffix in (".parquet", ".jsonl")
