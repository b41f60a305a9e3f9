"""Values survive the way into the page, in five digits."""

import base64
import gzip
import json
import math

import numpy as np
import pytest

from sampo.view.encoding import Table, chunk, number, numbers, rounded, shortened


def unpack(text: str) -> object:
    return json.loads(gzip.decompress(base64.b64decode(text)))


def test_a_chunk_is_safe_in_html_and_comes_back():
    value = {"text": "</script><b>大\u2028", "numbers": [1, 0.5, None]}
    assert unpack(chunk(value)) == value
    assert set(chunk(value)) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
    )
    assert chunk(value) == chunk(value)


def test_half_a_letter_does_not_stop_the_page():
    packed = gzip.decompress(base64.b64decode(chunk("a\ud83d")))
    assert packed.decode("utf-8", "replace").startswith('"a\ufffd')  # as JavaScript reads it


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.123456789, 0.12346),
        (-123456.789, -123460.0),
        (1e-30, 1e-30),
        (0.0, 0.0),
        (math.nan, None),
        (-math.inf, None),
    ],
)
def test_five_digits(value, shown):
    assert number(value) == shown
    assert rounded(np.array([value])) == [shown]
    assert numbers([value, None]) == [shown, None]


def test_rounding_an_array_gives_short_numbers():
    values = np.random.default_rng(0).normal(size=2000).astype(np.float32)
    assert [repr(x) for x in rounded(values)] == [repr(number(float(v))) for v in values]


def test_a_table_keeps_each_value_once():
    table = Table[str]()
    assert [table.place(text) for text in ("a", "b", "a")] == [0, 1, 0]
    assert table.values == ["a", "b"]


def test_long_texts_lose_their_middle():
    assert shortened("abc", 3) == "abc"
    text = shortened("a" * 1000 + "b" * 1000, 10)
    assert text == "aaaaa\n[… 1,990 characters left out …]\nbbbbb"
