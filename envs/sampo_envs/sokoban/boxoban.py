"""Levels from files in the public Boxoban format, plain or gzipped.

A file holds levels one after the other: an optional title line that begins with `;`, then the rows
of the board, then an empty line. The symbols are `#` wall, space floor, `.` target, `$` box, `*`
box on a target, `@` player, `+` player on a target. Nothing is downloaded here.

References:
    Guez et al., *An investigation of Model-free planning: boxoban levels*,
    https://github.com/google-deepmind/boxoban-levels
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from sampo.errors import ConfigError, MissingDataError
from sampo_envs.sokoban.board import Board, Level, State, check_side, is_solved, ring

WALLS, TARGETS, BOXES, PLAYER = "#", ".*+", "$*", "@+"
SYMBOLS = "# .$*@+"

SUFFIXES = (".txt", ".txt.gz")
"""What the names of level files end with, where a folder is read."""


@lru_cache(maxsize=8)
def load_levels(path: str) -> tuple[Level, ...]:
    """Return the levels of a file, or of all level files of a folder in the order of their names.

    Args:
        path: A file (gzipped if its name ends with `.gz`) or a folder of `.txt` and `.txt.gz`
            files; subfolders are not searched.

    Raises:
        MissingDataError: The file is not there, or the folder holds no level file.
        ConfigError: A file breaks the format; the message names the line.
    """
    levels = tuple(level for file in _files(Path(path)) for level in _read(file))
    if not levels:
        raise ConfigError(f"Sokoban: {path} holds no level. Point `levels` at a Boxoban file.")
    return levels


def parse_level(rows: Sequence[str], source: str = "level", first_line: int = 1) -> Level:
    """Return the level that some rows of symbols draw.

    Args:
        rows: The rows of the board, all equally long, the outermost ring all wall.
        source: Name for messages, such as a file.
        first_line: Number of the first row in `source`, for messages.

    Raises:
        ConfigError: The rows do not draw a level that can be played.

    Example:
        >>> level = parse_level(["#####", "#@$.#", "#####"])
        >>> level.start.player, level.board.targets == 1 << 8
        (6, True)
    """
    height, width = len(rows), len(rows[0])
    bits = dict.fromkeys((WALLS, TARGETS, BOXES, PLAYER), 0)
    for number, row in enumerate(rows):
        line = f"{source}, line {first_line + number}"
        if len(row) != width:
            raise ConfigError(
                f"Sokoban: {line} has {len(row)} cells, but the first row of this level has "
                f"{width}. Make all rows of a level equally long."
            )
        for column, symbol in enumerate(row):
            if symbol not in SYMBOLS:
                raise ConfigError(
                    f"Sokoban: {line}, column {column + 1} holds {symbol!r}, which is none of "
                    f"{SYMBOLS!r}. The file is not in the Boxoban format."
                )
            for kind in bits:
                if symbol in kind:
                    bits[kind] |= 1 << (number * width + column)
    board = Board(height=height, width=width, walls=bits[WALLS], targets=bits[TARGETS])
    where = f"{source}, lines {first_line} to {first_line + height - 1}"
    _check(board, bits[PLAYER], bits[BOXES], where)
    return Level(board, State(bits[PLAYER].bit_length() - 1, bits[BOXES]))


def _check(board: Board, players: int, boxes: int, where: str) -> None:
    """Raise ConfigError where parsed rows are not a level that can be played."""
    check_side(board.height, f"the number of rows in {where}")
    check_side(board.width, f"the length of the rows in {where}")
    if ring(board.height, board.width) & ~board.walls:
        raise ConfigError(f"Sokoban: {where}: the border is open. Close it with `#`.")
    if players.bit_count() != 1:
        raise ConfigError(
            f"Sokoban: {where}: {players.bit_count()} players. Draw one, as `@` or `+`."
        )
    if not boxes or boxes.bit_count() != board.targets.bit_count():
        raise ConfigError(
            f"Sokoban: {where}: {boxes.bit_count()} boxes and {board.targets.bit_count()} targets. "
            "There must be as many boxes as targets, and at least one."
        )
    if is_solved(board, State(0, boxes)):
        raise ConfigError(f"Sokoban: {where}: the level is already solved. Move a box off.")


def _files(path: Path) -> list[Path]:
    """Return the level files that a path names."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise MissingDataError(
            f"Sokoban: no level file or folder at {path.absolute()}. Get the levels from "
            "https://github.com/google-deepmind/boxoban-levels and point `levels` at a file or "
            "folder of them, or leave `levels` out to play generated levels."
        )
    files = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIXES))
    if not files:
        raise MissingDataError(
            f"Sokoban: no {' or '.join(SUFFIXES)} file in the folder {path.absolute()} (subfolders "
            "are not searched). Point `levels` at the folder that holds the level files themselves."
        )
    return files


def _read(path: Path) -> Iterator[Level]:
    """Yield the levels of one file."""
    data = path.read_bytes()
    try:
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"Sokoban: {path} cannot be read as {'gzipped ' * (path.suffix == '.gz')}text "
            f"({error}). Fetch the file again, or name it as what it is (.txt or .txt.gz)."
        ) from error
    rows: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line and not line.startswith(";"):
            rows.append(line)
        elif rows:
            yield parse_level(rows, str(path), number - len(rows))
            rows = []
