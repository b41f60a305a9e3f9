"""Problem files in their formats, good and bad."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sampo.errors import ConfigError, MissingDataError
from sampo_envs.tir_math.files import Columns, read_problems

MATH = [
    {
        "problem": "What is 1 + 1?",
        "level": "Level 3",
        "type": "Algebra",
        "solution": r"It is not \boxed{3}, it is $\boxed{2}$.",
    },
    {"problem": "And 2 + 2?", "level": "Level ?", "type": "Counting", "solution": r"\boxed{4}"},
]
NESTED = [
    {
        "prompt": [{"role": "user", "content": "How many?"}],
        "reward_model": {"ground_truth": "204"},
        "extra_info": {"index": 0},
    }
]


def write(path: Path, rows: list[dict]) -> str:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        text = "\n".join(json.dumps(row) for row in rows) + "\n\n"
        data = text.encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


@pytest.mark.parametrize("name", ["m.jsonl", "m.jsonl.gz", "m.parquet"])
def test_math_as_it_is_published(tmp_path: Path, name: str) -> None:
    first, second = read_problems(write(tmp_path / name, MATH), Columns())
    assert (first.question.text, first.question.answer) == ("What is 1 + 1?", "2")
    assert (first.question.kind, first.level) == ("Algebra", 3)
    assert (second.question.answer, second.level) == ("4", None)
    assert first.within(3, 5) and not first.within(4, None) and not second.within(1, None)
    assert second.within(None, None)


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_nested_columns_as_the_papers_files_have_them(tmp_path: Path, name: str) -> None:
    (problem,) = read_problems(write(tmp_path / name, NESTED), Columns())
    assert (problem.question.text, problem.question.answer) == ("How many?", "204")


def test_columns_can_be_named(tmp_path: Path) -> None:
    rows = [{"q": "Why?", "question": "no", "extra": {"a": 7}, "answer": "no", "hard": 2}]
    columns = Columns(question="q", answer="extra.a", level="hard")
    (problem,) = read_problems(write(tmp_path / "c.jsonl", rows), columns)
    assert (problem.question.text, problem.question.answer, problem.level) == ("Why?", "7", 2)


def test_rows_without_an_answer_are_left_out_aloud(tmp_path: Path) -> None:
    rows = [{"question": "a", "answer": "1"}, {"question": "b", "answer": ""}, {"question": "c"}]
    path = write(tmp_path / "g.jsonl", rows)
    with pytest.warns(
        UserWarning, match="2 rows without question or answer are left out: rows 1, 2"
    ):
        assert len(read_problems(path, Columns())) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", "a", r"none of .jsonl, .jsonl.gz, .parquet"),
        ("x.jsonl", "", "holds no problem"),
        ("x.jsonl", "{", "line 1 is no JSON"),
        ("x.jsonl", "[1]", "line 1 is not a JSON object"),
        ("x.jsonl", '{"text": "a"}', "no question in question, problem, .*columns are text. Set"),
        ("x.jsonl", '{"question": "a", "gold": 1}', "no answer in answer, gt_answer"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ConfigError, match=message):
        read_problems(str(tmp_path / name), Columns())


def test_columns_that_are_not_there_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "m.jsonl", MATH)
    with pytest.raises(ConfigError, match="no question in 'q'; its columns are problem, level"):
        read_problems(path, Columns(question="q"))


def test_a_file_that_is_not_there_names_the_way_to_it() -> None:
    with pytest.raises(MissingDataError, match=r"python -m sampo_envs.tir_math.fetch"):
        read_problems("nowhere.jsonl", Columns())
