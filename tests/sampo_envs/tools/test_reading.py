"""Blocks and boxes, on replies as models write them and as they should not."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampo_envs.tools import first_block, last_boxed

PYTHON = ("python", "py")


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("```python\nx\n```", "x"),
        ("```py\nx\ny\n```\n", "x\ny"),
        ("```Python \nx\n``` ", "x"),
        ("words\n  ```python\n  x\n  ```", "  x"),
        ("```python\n```", ""),
        ("```text\n```\n```python\nx\n```", "x"),
        ("```text\n```python\n```\n```python\nx\n```", "x"),
        ("```python\na\n```\n```python\nb\n```", "a"),
        ("```python\r\nx\r\n```", "x\r"),
    ],
)
def test_finds_the_first_block(text: str, content: str) -> None:
    block = first_block(text, PYTHON)
    assert block is not None and block.content == content
    assert text[block.start : block.start + 3] == "```" == text[block.end - 3 : block.end]


@pytest.mark.parametrize(
    "text",
    ["", "```python\nx", "```python x```", "```text\nx\n```", "`python`\n```", "``python\nx\n``"],
)
def test_incomplete_blocks_are_none(text: str) -> None:
    assert first_block(text, PYTHON) is None


def test_a_fence_without_a_word_is_a_language_of_its_own() -> None:
    assert first_block("```\nx\n```", PYTHON) is None
    found = first_block("```\nx\n```", ("python", ""))
    assert found is not None and found.content == "x"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"\boxed{7}", "7"),
        (r"\boxed {7}", "7"),
        (r"\boxed{1} then \boxed{ 2 }", "2"),
        (r"\boxed{\frac{1}{2}} \boxed{open", r"\frac{1}{2}"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"} { \boxed{x} {", "x"),
        (r"\boxed{\boxed{3}}", r"\boxed{3}"),
        (r"\boxed{}", ""),
        (r"\\boxed{x}", None),
        (r"\boxed{x", None),
        ("boxed{x}", None),
        ("", None),
    ],
)
def test_finds_the_last_box(text: str, answer: str | None) -> None:
    assert last_boxed(text) == answer


@pytest.mark.parametrize("piece", [r"\boxed{", "```python\n", "```\n", "{", "}", "\\", "\n"])
def test_takes_linear_time(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    began = time.process_time()
    first_block(text, PYTHON)
    last_boxed(text)
    assert time.process_time() - began < 5


@given(st.text())
def test_bears_any_text(text: str) -> None:
    first_block(text, PYTHON)
    last_boxed(text)
