"""The pages of `docs/`, and the example files that they show."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DIALS = ("dial-1-aggregation", "dial-2-ratio-and-clipping", "dial-3-advantage", "dial-4-filtering")
OBJECTIVE = (*DIALS, "kl-and-entropy", "equations", "objective", "glossary", "path-of-an-episode")
"""Pages about what is optimised."""
EXAMPLE = re.compile(r"^<!-- test: (\S+) -->\n```\w+\n(.*?)^```$", re.M | re.S)


@cache
def text(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def examples(page: str) -> dict[str, str]:
    """Return the files that a page shows: name and content."""
    return dict(EXAMPLE.findall(text(page)))
