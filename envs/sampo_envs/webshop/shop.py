"""A shop that is ready to be played in: products, goals and search engine of one data folder.

Preparing the 1,000-product set takes seconds, and the full one minutes, so it is done once, in a
cache folder (`$XDG_CACHE_HOME/sampo/webshop`, or `~/.cache/...`). Processes open what lies there
and share it in memory.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from random import Random

import numpy as np

from sampo.errors import MissingDataError
from sampo_envs.webshop.catalogue import FILES, Product, find_file, read_products
from sampo_envs.webshop.goals import Goal, GoalRow, draw_prices, list_goals, make_goal
from sampo_envs.webshop.search import SearchIndex, build_index
from sampo_envs.webshop.splits import split_of
from sampo_envs.webshop.tables import Texts, open_numbers, write_numbers, write_texts

MOST_RESULTS = 50
"""Results of a search."""
LAYOUT = 1
"""Counts up whenever prepared folders of an older release must not be used any more."""


class Shop:
    """Products, goals and search, read from a prepared folder.

    Args:
        folder: What `prepare` made.
    """

    def __init__(self, folder: Path) -> None:
        self._products = Texts(folder / "products")
        self._asins = Texts(folder / "asins")
        self._sorted_asins = Texts(folder / "sorted_asins")
        self._by_asin = open_numbers(folder / "by_asin")
        self._labels = Texts(folder / "labels")
        self._label_starts = open_numbers(folder / "label_starts")
        self._labelled = open_numbers(folder / "labelled")
        self._prices = open_numbers(folder / "prices")
        self._goals = open_numbers(folder / "goals")
        self._splits = open_numbers(folder / "splits")
        self._index = SearchIndex(folder)
        self._number = lru_cache(maxsize=4096)(self._find_number)
        self._product = lru_cache(maxsize=4096)(self._read_product)
        self._goal = lru_cache(maxsize=4096)(self._make_goal)
        self._search = lru_cache(maxsize=4096)(self._find)

    @property
    def num_goals(self) -> int:
        """How many goals there are."""
        return len(self._goals)

    def goal(self, index: int) -> Goal:
        """Return a goal by its place in the original's list."""
        return self._goal(index)

    def weight(self, index: int) -> float:
        """Return how rare the attributes of a goal are."""
        return float(self._goals[index]["weight"])

    def goals_of(self, split: int) -> list[int]:
        """Return the goals that a split owns, in order."""
        return np.flatnonzero(self._splits == split).tolist()

    def product(self, asin: str) -> Product:
        """Return the product of an asin, which must be there."""
        return self._product(self._number(asin))

    def price(self, asin: str) -> float:
        """Return what a product costs, in dollars."""
        return float(self._prices[self._number(asin)])

    def search(self, query: str) -> Sequence[str]:
        """Return the asins that a query finds, best first, at most `MOST_RESULTS`.

        `<q> words` and `<c> word` list all products that were found by these words, or are of this
        category, as in the original.
        """
        return self._search(query)

    def _find(self, query: str) -> tuple[str, ...]:
        first, *rest = query.split(" ")
        if first in ("<q>", "<c>"):
            words = " ".join(rest if first == "<q>" else rest[:1]).strip()
            numbers = self._labelled_with(f"{first} {words}")
        else:
            numbers = self._index.search(query, MOST_RESULTS)
        return tuple(self._asins[number] for number in numbers)

    def _labelled_with(self, label: str) -> list[int]:
        place = self._labels.find(label)
        if place is None:
            return []
        return self._labelled[self._label_starts[place] : self._label_starts[place + 1]].tolist()

    def _find_number(self, asin: str) -> int:
        place = self._sorted_asins.find(asin)
        if place is None:
            raise KeyError(asin)
        return int(self._by_asin[place])

    def _read_product(self, number: int) -> Product:
        return Product.from_json(self._products[number])

    def _make_goal(self, index: int) -> Goal:
        row = GoalRow(*self._goals[index].tolist())
        return make_goal(index, row, self._product(row.product))


@lru_cache(maxsize=4)
def open_shop(data: Path, goals: str, price_seed: int) -> Shop:
    """Return the shop of a data folder, prepared before if it was not.

    Args:
        data: Folder with the files of `catalogue.FILES`.
        goals: `synthetic` or `human`.
        price_seed: Seed of the prices and price limits.

    Raises:
        MissingDataError: The data are not there, or the cache cannot be written.
        ConfigError: The data cannot be read.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sampo" / "webshop"
    ready = cache / _fingerprint(data, goals, price_seed)
    if not ready.is_dir():
        try:
            cache.mkdir(parents=True, exist_ok=True)
            unfinished = Path(tempfile.mkdtemp(dir=cache))
        except OSError as error:
            raise MissingDataError(
                f"WebShop: {cache} cannot be written ({error.strerror}). Set XDG_CACHE_HOME to a "
                "folder that can."
            ) from error
        try:
            prepare(data, unfinished, goals, price_seed)
            _publish(unfinished, ready)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return Shop(ready)


def prepare(data: Path, folder: Path, goals: str, price_seed: int) -> None:
    """Write what `Shop` reads into an empty folder; see `open_shop`."""
    products = list(read_products(data))
    rng = Random(price_seed)
    prices = draw_prices(products, rng)
    rows = list_goals(products, prices, goals, rng)
    asins = [item.asin for item in products]
    labels = defaultdict(list)
    for number, item in enumerate(products):
        labels[f"<q> {item.query}"].append(number)
        labels[f"<c> {item.category}"].append(number)
    ordered = sorted(labels)
    write_texts(folder / "products", (item.to_json() for item in products))
    write_texts(folder / "asins", asins)
    write_texts(folder / "sorted_asins", sorted(asins))
    write_numbers(folder / "by_asin", np.argsort(np.array(asins)))
    write_texts(folder / "labels", ordered)
    sizes = [len(labels[label]) for label in ordered]
    write_numbers(folder / "label_starts", np.cumsum([0, *sizes]))
    write_numbers(folder / "labelled", np.concatenate([labels[label] for label in ordered]))
    write_numbers(folder / "prices", np.array(prices))
    kinds = [("product", "i4"), ("choice", "i8"), ("price_upper", "f8"), ("weight", "f8")]
    write_numbers(folder / "goals", np.array(rows, dtype=kinds))
    owners = [split_of(asin) for asin in asins]
    write_numbers(folder / "splits", np.array([owners[row.product] for row in rows], dtype="i1"))
    build_index(folder, (item.search_text for item in products), asins)


def _fingerprint(data: Path, goals: str, price_seed: int) -> str:
    """Return the name of the prepared folder of these files and settings."""
    parts = [str(LAYOUT), goals, str(price_seed)]
    for kind in FILES:
        path = find_file(data, kind)
        if path is not None:
            facts = path.stat()
            parts += [str(path.resolve()), str(facts.st_size), str(facts.st_mtime_ns)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _publish(unfinished: Path, ready: Path) -> None:
    """Give a prepared folder its name, unless another process was faster."""
    try:
        unfinished.rename(ready)
    except OSError:
        if not ready.is_dir():
            raise
