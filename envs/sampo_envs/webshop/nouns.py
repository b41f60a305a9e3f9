"""The table of title nouns, for catalogues that come without one.

    pip install spacy && python -m spacy download en_core_web_sm
    python -m sampo_envs.webshop.nouns FOLDER

The reward compares the nouns of titles, and nothing else needs a language model: so they are
found once, and written to `title_nouns.json.gz` in the data folder.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from sampo.errors import MissingDataError, MissingDependencyError, SampoError
from sampo_envs.webshop.catalogue import read_titles

MODEL = "en_core_web_sm"
"""The original's model; the table of the 1,000-product set was made with its version 3.8.0."""
_NOUNS = ("NOUN", "PROPN")


def title_nouns(
    titles: Mapping[str, str], parse: Callable[[str], Iterable[Any]]
) -> dict[str, dict[str, Any]]:
    """Return the nouns of titles: `nouns` sorted, and `len_with_repeats`, by asin.

    Args:
        titles: Title by asin.
        parse: Returns the tokens of a text, each with `text` and spaCy's `pos_`.
    """
    table = {}
    for asin, title in titles.items():
        nouns = [token.text.lower() for token in parse(title) if token.pos_ in _NOUNS]
        table[asin] = {"nouns": sorted(set(nouns)), "len_with_repeats": len(nouns)}
    return table


def load_parser(model: str) -> Callable[[str], Iterable[Any]]:
    """Return spaCy's pipeline of a name.

    Raises:
        MissingDependencyError: spaCy is not installed.
        MissingDataError: The model is not there.
    """
    try:
        import spacy  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingDependencyError(
            "WebShop: finding nouns needs spaCy. Install it with `pip install spacy`."
        ) from error
    try:
        return spacy.load(model)
    except OSError as error:
        raise MissingDataError(
            f"WebShop: spaCy has no model {model}. Get it with `python -m spacy download {model}`."
        ) from error


def main(arguments: list[str] | None = None) -> int:
    """Write the table of a data folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where items_shuffle*.json is")
    parser.add_argument("--model", default=MODEL, help="spaCy model (default: %(default)s)")
    args = parser.parse_args(arguments)
    try:
        table = title_nouns(read_titles(args.folder), load_parser(args.model))
    except SampoError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    path = args.folder / "title_nouns.json.gz"
    path.write_bytes(gzip.compress(json.dumps(table).encode(), mtime=0))
    sys.stdout.write(f"{path}: nouns of {len(table)} titles\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
