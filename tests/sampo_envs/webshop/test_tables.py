"""Texts and numbers on disk come back as they were."""

from pathlib import Path

import numpy as np
import pytest

from sampo_envs.webshop.tables import Texts, open_numbers, write_numbers, write_texts


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    write_texts(tmp_path / "words", ["", "a\nb", "grün", "袋"])
    return Texts(tmp_path / "words")


def test_texts_come_back(texts: Texts) -> None:
    assert list(texts) == ["", "a\nb", "grün", "袋"]
    assert texts[1:3] == ["a\nb", "grün"]
    with pytest.raises(IndexError, match="no text 4 of 4"):
        texts[4]


def test_sorted_texts_are_found(texts: Texts) -> None:
    assert [texts.find(text) for text in ("", "grün", "袋")] == [0, 2, 3]
    assert [texts.find(text) for text in ("b", "gr", "鿿")] == [None, None, None]


@pytest.mark.parametrize("content", [[], ["", ""]])
def test_nothing_comes_back_as_nothing(tmp_path: Path, content: list[str]) -> None:
    write_texts(tmp_path / "words", content)
    assert list(Texts(tmp_path / "words")) == content


def test_numbers_are_mapped_not_loaded(tmp_path: Path) -> None:
    write_numbers(tmp_path / "numbers", np.arange(5))
    numbers = open_numbers(tmp_path / "numbers")
    assert numbers.tolist() == [0, 1, 2, 3, 4]
    assert isinstance(numbers.base, np.memmap)
