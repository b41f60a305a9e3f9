"""Pictures, checked by the colours of single pixels."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from sampo.errors import ConfigError, MissingDependencyError
from sampo_envs.sokoban import image, parse_level, write_png
from sampo_envs.sokoban.picture import (
    BOX_COLOUR,
    BOX_ON_TARGET_COLOUR,
    FLOOR_COLOUR,
    PLAYER_COLOUR,
    TARGET_COLOUR,
    WALL_COLOUR,
)

LEVEL = parse_level(["#######", "#+$* .#", "#    $#", "#######"])


def colour(picture: np.ndarray, row: int, column: int, down: int, right: int) -> tuple[int, ...]:
    """Return the colour of a pixel inside the tile of a cell (tiles of 16 pixels)."""
    return tuple(int(part) for part in picture[16 * row + down, 16 * column + right])


def test_every_kind_of_cell_has_its_colours():
    picture = image(*LEVEL)
    assert picture.shape == (4 * 16, 7 * 16, 3) and picture.dtype == np.uint8
    assert colour(picture, 0, 0, 8, 8) == WALL_COLOUR
    assert colour(picture, 1, 4, 8, 8) == FLOOR_COLOUR
    assert colour(picture, 1, 2, 8, 8) == BOX_COLOUR
    assert colour(picture, 1, 2, 0, 0) == FLOOR_COLOUR  # a box leaves a margin of 2 pixels
    assert colour(picture, 1, 3, 8, 8) == BOX_ON_TARGET_COLOUR
    assert colour(picture, 1, 5, 8, 8) == TARGET_COLOUR
    assert colour(picture, 1, 5, 2, 2) == FLOOR_COLOUR  # a target is smaller than a box
    # The player stands on a target: a disc of radius 4.8 around the centre, and the corner of the
    # target (4 pixels from the edge, 4.95 from the centre) shows beside it.
    assert colour(picture, 1, 1, 8, 8) == PLAYER_COLOUR
    assert colour(picture, 1, 1, 4, 4) == TARGET_COLOUR
    assert colour(picture, 1, 1, 1, 1) == FLOOR_COLOUR


def test_tiles_may_be_larger_but_not_tiny():
    assert image(*LEVEL, tile=32).shape == (128, 224, 3)
    with pytest.raises(ConfigError, match="tile of 4 pixels"):
        image(*LEVEL, tile=4)


def test_png_holds_the_same_pixels(tmp_path: Path):
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    picture = image(*LEVEL)
    write_png(picture, tmp_path / "level.png")
    with pillow.open(tmp_path / "level.png") as stored:
        assert np.array_equal(np.asarray(stored), picture)


def test_without_pillow_the_pip_line_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingDependencyError, match="pip install pillow"):
        write_png(image(*LEVEL), tmp_path / "level.png")
