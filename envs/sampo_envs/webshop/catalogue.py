"""Products, as WebShop reads them from its scraped records.

References:
    Yao et al., *WebShop: Towards Scalable Real-World Web Interaction with Grounded Language
    Agents*, https://arxiv.org/abs/2207.01206, `web_agent_site/engine/engine.py`.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from sampo.errors import ConfigError, MissingDataError

FILES = {
    "products": "items_shuffle*.json*",
    "attributes": "items_ins_v2*.json*",
    "human": "items_human_ins*.json*",
    "nouns": "title_nouns*.json*",
}
"""What each file of a data folder is called: plain or gzipped JSON."""

NO_PRICE = 100.0
"""Price of a product whose record has none, in dollars."""
LONGEST_ASIN = 10


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """What somebody asks for, with this product in mind."""

    text: str
    attributes: tuple[str, ...]
    """The attributes that a purchase must have; never empty."""
    options: tuple[str, ...] = ()
    """Values of options that a purchase must have; only of instructions written by people."""


@dataclass(frozen=True, kw_only=True)
class Product:
    """One product."""

    asin: str
    """Its id, in capitals."""
    title: str
    description: str
    bullets: tuple[str, ...]
    """Its features."""
    prices: tuple[float, ...]
    """One price, or the lowest and the highest, in dollars."""
    options: tuple[tuple[str, tuple[str, ...]], ...]
    """(name, values) of what can be chosen, in lower case, in the order of the page."""
    attributes: tuple[str, ...]
    category: str
    query: str
    """The search by which it was found, in lower case."""
    product_category: str
    """Path of categories, joined by ` › `."""
    nouns: tuple[str, ...]
    """The nouns of its title, without repeats, in lower case."""
    noun_count: int
    """How many nouns its title has, with repeats."""
    instruction: Instruction | None
    """The instruction that synthetic goals are made from."""
    human_instructions: tuple[Instruction, ...]

    @property
    def price_tag(self) -> str:
        """The price as the pages show it."""
        return " to ".join(f"${price}" for price in self.prices)

    @property
    def search_text(self) -> str:
        """The text that the search engine knows it by."""
        options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in self.options)
        first_bullet = self.bullets[0] if self.bullets else ""
        return " ".join([self.title, self.description, first_bullet, options]).lower()

    def to_json(self) -> str:
        """Return what `from_json` reads."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Product:
        """Return the product of a text by `to_json`."""
        fields = json.loads(text)
        for name in ("bullets", "prices", "attributes", "nouns"):
            fields[name] = tuple(fields[name])
        fields["options"] = tuple((name, tuple(values)) for name, values in fields["options"])
        asked = fields["instruction"]
        fields["instruction"] = None if asked is None else _instruction(**asked)
        fields["human_instructions"] = tuple(
            _instruction(**asked) for asked in fields["human_instructions"]
        )
        return cls(**fields)


def find_file(folder: Path, kind: str) -> Path | None:
    """Return the file of one of `FILES` in a folder, or None.

    Raises:
        ConfigError: There is more than one.
    """
    found = sorted(folder.glob(FILES[kind]))
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise ConfigError(
            f"WebShop: {folder} holds more than one file of {kind}: {names}. Keep one data set in "
            "a folder."
        )
    return found[0] if found else None


def read_products(folder: Path) -> Iterator[Product]:
    """Yield the products of a data folder, in the order of its file.

    Products whose id is `nan`, too long or repeated are left out, as in the original.

    Raises:
        MissingDataError: A file is not there.
        ConfigError: A record cannot be read.
    """
    records = _read(folder, "products")
    attributes, nouns = _read(folder, "attributes"), _read(folder, "nouns")
    human = _read(folder, "human") if find_file(folder, "human") else {}
    seen = set()
    for record in records:
        asin = record["asin"]
        if asin == "nan" or len(asin) > LONGEST_ASIN or asin in seen:
            continue
        seen.add(asin)
        if asin not in nouns:
            raise ConfigError(
                f"WebShop: the table of nouns in {folder} lacks product {asin}. Make a new one "
                f"with `python -m sampo_envs.webshop.nouns {folder}`."
            )
        yield _product(record, attributes.get(asin, {}), human.get(asin, ()), nouns[asin])


def read_titles(folder: Path) -> dict[str, str]:
    """Return the title of every record of a data folder by its asin."""
    return {record["asin"]: record["name"] for record in _read(folder, "products")}


def _product(
    record: Mapping[str, Any], known: Mapping[str, Any], human: Any, nouns: Mapping[str, Any]
) -> Product:
    """Return the product of a record, its attributes, its human instructions and its nouns."""
    bullets = record["small_description"]
    asked = known.get("instruction")
    return Product(
        asin=record["asin"],
        title=record["name"],
        description=record["full_description"],
        bullets=tuple(bullets) if isinstance(bullets, list) else (bullets,),
        prices=_prices(record.get("pricing"), record["asin"]),
        options=tuple(_options(record["customization_options"])),
        # The original's word for products without a list; one that somebody may also search for.
        attributes=tuple(known.get("attributes", ("DUMMY_ATTR",))),
        category=record["category"],
        query=record["query"].lower().strip(),
        product_category=record["product_category"],
        nouns=tuple(nouns["nouns"]),
        noun_count=nouns["len_with_repeats"],
        instruction=(
            None if asked is None else _instruction(asked, known.get("instruction_attributes", ()))
        ),
        human_instructions=tuple(
            _instruction(
                entry["instruction"], entry["instruction_attributes"], entry["instruction_options"]
            )
            for entry in human
            if entry["instruction_attributes"]
        ),
    )


def _instruction(text: str, attributes: Any, options: Any = ()) -> Instruction:
    return Instruction(text=text, attributes=tuple(attributes), options=tuple(options))


def _prices(pricing: str | None, asin: str) -> tuple[float, ...]:
    if not pricing:
        return (NO_PRICE,)
    try:
        prices = [float(Decimal(re.sub(r"[^\d.]", "", part))) for part in pricing.split("$")[1:]]
    except InvalidOperation as error:
        raise ConfigError(f"WebShop: product {asin} has the price {pricing!r}.") from error
    if not prices:
        raise ConfigError(f"WebShop: product {asin} has a price without a dollar: {pricing!r}.")
    return tuple(prices[:2])


def _options(options: Mapping[str, Any] | str) -> Iterator[tuple[str, tuple[str, ...]]]:
    merged: dict[str, tuple[str, ...]] = {}
    for name, entries in (options or {}).items() if not isinstance(options, str) else ():
        if entries is not None:
            values = (entry["value"].strip().replace("/", " | ").lower() for entry in entries)
            merged[name.lower()] = tuple(values)
    yield from merged.items()


def _read(folder: Path, kind: str) -> Any:
    path = find_file(folder, kind)
    if path is None:
        advice = (
            f"Make it with `python -m sampo_envs.webshop.nouns {folder}`"
            if kind == "nouns"
            else "Get the data with `python -m sampo_envs.webshop.fetch`, or name a folder that "
            "has it"
        )
        raise MissingDataError(f"WebShop: there is no {FILES[kind]} in {folder}. {advice}.")
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file)
