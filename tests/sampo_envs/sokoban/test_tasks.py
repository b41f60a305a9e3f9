"""Tasks and splits: nothing of one split is ever seen in another."""

from __future__ import annotations

from pathlib import Path

import pytest

from sampo.errors import ConfigError
from sampo_envs.sokoban import LevelSettings, parse_level, split_of
from sampo_envs.sokoban.tasks import (
    SEEDS,
    FileLevels,
    GeneratedLevels,
    LevelSource,
    TaskNames,
    _generated,
)

GENERATED = GeneratedLevels(LevelSettings())


def levels(source: LevelSource, split: str, count: int) -> list:
    return [source.level(task) for task in source.tasks(split)[:count]]


@pytest.fixture
def files(tmp_path: Path) -> FileLevels:
    """One file with twelve corridors of different lengths, and two more with other targets."""
    rows = [f"#@$.{' ' * length}#" for length in range(4, 16)]
    rows += [f"# @$.{' ' * length}#" for length in (3, 4)]
    text = "\n\n".join("\n".join(["#" * len(row), row, "#" * len(row)]) for row in rows)
    (tmp_path / "corridors.txt").write_text(text)
    return FileLevels(str(tmp_path / "corridors.txt"))


def test_seeds_of_the_splits_are_disjoint():
    assert SEEDS["train"] == range(65536)
    assert SEEDS["val"].start == 65536
    assert not set(SEEDS["val"]) & set(SEEDS["test"])
    assert not set(SEEDS["train"]) & set(SEEDS["test"])


def test_boards_of_the_splits_are_disjoint():
    # Split by seed alone, nine of ten validation boards are training boards as well.
    boards = {split: {level.board for level in levels(GENERATED, split, 400)} for split in SEEDS}
    for split, others in boards.items():
        assert {split_of(board) for board in others} == {split}
        assert len(others) > 150
    assert not boards["train"] & boards["val"]
    assert not boards["train"] & boards["test"]
    assert not boards["val"] & boards["test"]


def test_the_start_does_not_decide_the_split():
    left = parse_level(["######", "#@ $.#", "######"])
    right = parse_level(["######", "# @$.#", "######"])
    assert left != right and split_of(left.board) == split_of(right.board)


def test_the_owner_of_a_board_is_written_in_stone():
    # A change here would move levels between splits. The first bytes of the SHA-256 of
    # "3 6 3f87f 200", "3 7 1fe0ff 400" and "3 9 7fe03ff 1000" are 85, 206 and 63, so the buckets
    # of eight are 5, 6 and 7.
    boards = [
        parse_level(["#" * width, "#@$." + " " * (width - 5) + "#", "#" * width]).board
        for width in (6, 7, 9)
    ]
    assert [split_of(board) for board in boards] == ["train", "val", "test"]


def test_file_levels_are_shared_out_by_board(files: FileLevels):
    tasks = {split: files.tasks(split) for split in SEEDS}
    assert sorted(number for names in tasks.values() for number in names.numbers) == list(range(14))
    boards = {split: {files.level(task).board for task in names} for split, names in tasks.items()}
    assert all(boards.values())
    assert not boards["train"] & boards["val"]
    assert not boards["train"] & boards["test"]
    assert not boards["val"] & boards["test"]


def test_file_tasks_are_positions(files: FileLevels):
    for split in SEEDS:
        for task in files.tasks(split):
            number = int(task.split("/")[1])
            # Corridor `number` has number + 4 cells behind the target, and five more.
            if number < 12:
                assert files.level(task).board.width == number + 9


def test_a_level_is_made_once_per_process():
    _generated.cache_clear()
    for _ in range(5):
        GENERATED.level("train/7")
    assert _generated.cache_info().misses == 1


def test_task_names_are_a_lazy_sequence():
    names = GENERATED.tasks("train")
    assert len(names) == 65536
    assert names[0] == "train/0" and names[-1] == "train/65535"
    assert list(names[2:4]) == ["train/2", "train/3"]
    assert names.index("train/9") == 9
    assert names == TaskNames(range(65536), "train")


@pytest.mark.parametrize(
    "task", ["train/65536", "val/0", "train/007", "train/-1", "train/", "train", "", "train/١"]
)
def test_unknown_tasks_are_refused(task: str):
    assert task not in GENERATED.tasks("train")
    with pytest.raises(ConfigError, match=r"no (task|split)"):
        GENERATED.level(task)


def test_unknown_splits_name_the_nearest():
    with pytest.raises(ConfigError, match=r"no split 'vall'.*Did you mean 'val'"):
        GENERATED.tasks("vall")
