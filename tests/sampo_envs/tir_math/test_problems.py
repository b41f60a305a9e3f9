"""Sources of problems: splits that do not overlap, levels, names."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sampo.errors import ConfigError
from sampo_envs.tir_math import FileProblems, GeneratedProblems

SPLITS = ("train", "val", "test")


def write(path: Path, *texts: str) -> str:
    rows = [
        {"question": text, "answer": str(level), "level": level} for level, text in enumerate(texts)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return str(path)


def test_generated_texts_belong_to_one_split() -> None:
    source = GeneratedProblems(levels=(1,))
    texts = {
        split: {source.find(task).text for task in source.tasks(split)[:1500]} for split in SPLITS
    }
    assert not texts["train"] & texts["val"] | texts["train"] & texts["test"]
    assert not texts["val"] & texts["test"]
    assert len(texts["train"]) > 800


def test_levels_take_turns() -> None:
    mixed, hard = GeneratedProblems(levels=(1, 3)), GeneratedProblems(levels=(3,))
    assert mixed.find("train/7") == hard.find("train/7")
    assert mixed.find("train/8") != hard.find("train/8")


@pytest.mark.parametrize("levels", [(), (0,), (1, 4)])
def test_unknown_levels_are_refused(levels: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="must be some of 1, 2, 3"):
        GeneratedProblems(levels=levels)


def test_kinds_are_chosen() -> None:
    source = GeneratedProblems(kinds=("power", "roots"))
    assert {source.find(f"train/{n}").kind for n in range(40)} == {"power", "roots"}
    with pytest.raises(ConfigError, match=r"must be some of products, power.*Did you mean 'power'"):
        GeneratedProblems(kinds=("powers",))
    with pytest.raises(ConfigError, match="must be some of products"):
        GeneratedProblems(kinds=())


def test_the_expert_guesses_in_a_share_of_the_problems() -> None:
    never, half = GeneratedProblems(), GeneratedProblems(guess_share=0.5)
    plain = [never.find(f"train/{n}") for n in range(400)]
    mixed = [half.find(f"train/{n}") for n in range(400)]
    assert [replace(problem, guess=None) for problem in mixed] == plain
    guessed = [problem for problem in mixed if problem.guess is not None]
    assert 160 <= len(guessed) <= 240  # four standard deviations of 10
    for problem in guessed:
        assert problem.guess is not None and len(problem.guess) == len(problem.answer)
        assert problem.guess.startswith("-") == problem.answer.startswith("-")
    assert sum(problem.guess == problem.answer for problem in guessed) < len(guessed) / 4
    with pytest.raises(ConfigError, match=r"guess_share=1.5 must be in \[0, 1\]"):
        GeneratedProblems(guess_share=1.5)


def test_files_give_their_splits_and_held_out_texts_leave_training(tmp_path: Path) -> None:
    source = FileProblems(
        train=write(tmp_path / "train.jsonl", "a", "b", "c", "d", "e"),
        val=write(tmp_path / "val.jsonl", "c", "x"),
        test=write(tmp_path / "test.jsonl", "e"),
        min_level=1,
        max_level=3,
    )
    with pytest.warns(UserWarning, match=r"1 of 3 problems of .*train.jsonl also stand in"):
        assert list(source.tasks("train")) == ["train/1", "train/3"]
    assert list(source.tasks("val")) == ["val/0", "val/1"]
    assert source.find("train/3").text == "d" and source.find("test/0").answer == "0"
    with pytest.raises(ConfigError, match=r"no task 'train/2'.*from 'train/1' to 'train/3'"):
        source.find("train/2")


def test_a_split_without_a_file_is_empty(tmp_path: Path) -> None:
    source = FileProblems(test=write(tmp_path / "t.jsonl", "a"))
    assert not source.tasks("train") and len(source.tasks("test")) == 1
    with pytest.raises(ConfigError, match="none at all"):
        source.find("train/0")
    with pytest.raises(ConfigError, match="FileProblems has no file"):
        FileProblems()
