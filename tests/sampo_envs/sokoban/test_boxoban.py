"""Level files: a made one, wrong ones, and the public ones where they are at hand."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from sampo.errors import ConfigError, MissingDataError
from sampo_envs.sokoban import load_levels, parse_level, solve

MADE = """; 0
#####
#@$.#
#####

; 1
######
# +$ #
# $. #
#    #
######
"""

DATA = Path(
    os.environ.get("SAMPO_SOKOBAN_DATA", Path(__file__).parents[3] / "../shared/data/sokoban")
)


def test_a_plain_file(tmp_path: Path):
    (tmp_path / "made.txt").write_text(MADE)
    first, second = load_levels(str(tmp_path / "made.txt"))
    assert first == parse_level(["#####", "#@$.#", "#####"])
    # `+` is a player on a target: row 1, column 2 of a board that is 6 wide.
    assert second.start.player == 8
    assert second.board.targets == 1 << 8 | 1 << 15
    assert second.start.boxes == 1 << 9 | 1 << 14


def test_a_gzipped_file_and_windows_line_ends(tmp_path: Path):
    path = tmp_path / "made.txt.gz"
    path.write_bytes(gzip.compress(MADE.replace("\n", "\r\n").encode()))
    (tmp_path / "made.txt").write_text(MADE)
    assert load_levels(str(path)) == load_levels(str(tmp_path / "made.txt"))


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path):
    (tmp_path / "001.txt").write_text("; 0\n######\n#@ $.#\n######")
    (tmp_path / "000.txt").write_text(MADE)
    (tmp_path / "README.md").write_text("not a level")
    levels = load_levels(str(tmp_path))
    assert [level.board.width for level in levels] == [5, 6, 6]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("; 0\n#####\n#@x.#\n#####", r"line 3, column 3 holds 'x'"),
        ("\n; 0\n#####\n#@$.\n#####", r"line 4 has 4 cells.* has 5"),
        ("; 0\n#####\n#@$. \n#####", r"lines 2 to 4: the border is open"),
        ("; 0\n#####\n# $.#\n#####", r"lines 2 to 4: 0 players"),
        ("; 0\n#####\n#@@.#\n#####", r"2 players"),
        ("; 0\n#####\n#@$ #\n#####", r"1 boxes and 0 targets"),
        ("; 0\n#####\n#@  #\n#####", r"0 boxes and 0 targets"),
        ("; 0\n#####\n#@* #\n#####", r"already solved"),
        ("; 0\n###\n###", r"number of rows in .*lines 2 to 3 is 2"),
        ("; only a title\n", r"holds no level"),
    ],
)
def test_faults_are_named_with_their_lines(tmp_path: Path, text: str, message: str):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_levels(str(path))


def test_a_broken_archive_is_named(tmp_path: Path):
    (tmp_path / "bad.txt.gz").write_text("not gzip")
    with pytest.raises(ConfigError, match=r"bad\.txt\.gz cannot be read as gzipped text"):
        load_levels(str(tmp_path / "bad.txt.gz"))


def test_missing_files_say_where_to_get_them(tmp_path: Path):
    with pytest.raises(MissingDataError, match=r"nowhere\.txt.*boxoban-levels"):
        load_levels(str(tmp_path / "nowhere.txt"))
    with pytest.raises(MissingDataError, match=r"no \.txt or \.txt\.gz file"):
        load_levels(str(tmp_path))


@pytest.mark.skipif(
    not DATA.is_dir(), reason="no public levels: point SAMPO_SOKOBAN_DATA at a folder of them"
)
def test_public_levels_load_and_can_be_solved():
    levels = load_levels(str(DATA))
    assert len(levels) >= 1000
    assert {(level.board.height, level.board.width) for level in levels} == {(10, 10)}
    assert {level.start.boxes.bit_count() for level in levels} == {4}
    # Among the first twenty there are some that a small search can solve.
    searches = [solve(*level, node_limit=20_000) for level in levels[:20]]
    assert sum(search.actions is not None for search in searches) >= 3
    assert all(search.actions or not search.complete for search in searches)
