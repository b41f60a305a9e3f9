"""Texts into terms: word borders, possessives, stop words, symbols."""

import pytest

from sampo_envs.webshop.analyzer import STOP_WORDS, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The lamp's BASE", ["lamp", "base"]),
        ("women’s t-shirts", ["women", "t", "shirt"]),
        ("3.5mm jack, 1,000 lumens", ["3.5mm", "jack", "1,000", "lumen"]),
        ("40.", ["40"]),
        ("model_no x:y q：i", ["model_no", "x:y", "q：i"]),
        ("size:40", ["size", "40"]),
        ("760g袋包", ["760g", "袋", "包"]),
        ("♥ love 😀", ["♥", "love", "😀"]),
        ("--- … ()", []),
        ("for the of", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_there_are_33_stop_words() -> None:
    assert len(STOP_WORDS) == 33
