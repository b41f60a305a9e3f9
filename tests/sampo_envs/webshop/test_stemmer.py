"""Stems worked out with Porter's paper, one word per rule."""

import pytest

from sampo_envs.webshop.stemmer import stem


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("cats", "cat"),
        ("caress", "caress"),
        ("feed", "feed"),
        ("agreed", "agre"),
        ("plastered", "plaster"),
        ("bled", "bled"),
        ("motoring", "motor"),
        ("sing", "sing"),
        ("conflated", "conflat"),
        ("troubled", "troubl"),
        ("sized", "size"),
        ("hopping", "hop"),
        ("falling", "fall"),
        ("hissing", "hiss"),
        ("failing", "fail"),
        ("filing", "file"),
        ("happy", "happi"),
        ("sky", "sky"),
        ("relational", "relat"),
        ("conditional", "condit"),
        ("rational", "ration"),
        ("digitizer", "digit"),
        ("vietnamization", "vietnam"),
        ("hopefulness", "hope"),
        ("triplicate", "triplic"),
        ("electrical", "electr"),
        ("goodness", "good"),
        ("revival", "reviv"),
        ("replacement", "replac"),
        ("adoption", "adopt"),
        ("effective", "effect"),
        ("probate", "probat"),
        ("rate", "rate"),
        ("cease", "ceas"),
        ("controll", "control"),
        ("roll", "roll"),
    ],
)
def test_the_examples_of_the_paper(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [("possibly", "possibl"), ("technologies", "technolog"), ("us", "us"), ("as", "as")],
)
def test_what_lucene_does_otherwise(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize("word", ["", "a", "10", "12v", "½", "日本語", "'", "yyyy"])
def test_anything_is_a_word(word: str) -> None:
    assert stem(word)[:1] == word[:1]
