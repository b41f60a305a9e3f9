"""Records into products: prices, options, and what is left out."""

import json
from pathlib import Path
from typing import Any

import pytest

from sampo.errors import ConfigError, MissingDataError
from sampo_envs.webshop import Product
from sampo_envs.webshop.catalogue import read_products

RECORD = {
    "name": "Lumo Lamp",
    "full_description": "Lights.",
    "small_description": ["Warm.", "Bright."],
    "product_category": "Home › Lamps",
    "category": "garden",
    "query": " Desk Lamps ",
    "customization_options": "",
    "asin": "B1",
    "pricing": "$12.50",
}


@pytest.fixture
def read(tmp_path: Path):
    """Return a function that writes records and reads the products."""

    def products(*changes: dict[str, Any], **files: Any) -> list[Product]:
        records = [{**RECORD, **change} for change in changes]
        nouns = {r["asin"]: {"nouns": ["lamp"], "len_with_repeats": 1} for r in records}
        contents = {
            "items_shuffle.json": records,
            "items_ins_v2.json": files.get("attributes", {}),
            "title_nouns.json": files.get("nouns", nouns),
        }
        if "human" in files:
            contents["items_human_ins.json"] = files["human"]
        for name, content in contents.items():
            (tmp_path / name).write_text(json.dumps(content))
        return list(read_products(tmp_path))

    return products


@pytest.mark.parametrize(
    ("pricing", "prices", "tag"),
    [
        ("$12.50", (12.5,), "$12.5"),
        ("$1,299.00", (1299.0,), "$1299.0"),
        ("$8.98 - $11.99", (8.98, 11.99), "$8.98 to $11.99"),
        ("$1 $2 $3", (1.0, 2.0), "$1.0 to $2.0"),
        ("", (100.0,), "$100.0"),
        (None, (100.0,), "$100.0"),
    ],
)
def test_prices(read, pricing: str | None, prices: tuple[float, ...], tag: str) -> None:
    (item,) = read({"pricing": pricing})
    assert (item.prices, item.price_tag) == (prices, tag)


@pytest.mark.parametrize("pricing", ["$", "dear"])
def test_a_price_that_is_none_is_reported(read, pricing: str) -> None:
    with pytest.raises(ConfigError, match="product B1"):
        read({"pricing": pricing})


def test_options_are_lower_case_and_slashes_wide(read) -> None:
    options = {"Color": [{"value": " Red/Blue "}, {"value": "TAN"}], "Size": None}
    (item,) = read({"customization_options": options})
    assert item.options == (("color", ("red | blue", "tan")),)
    assert item.search_text == "lumo lamp lights. warm. color: red | blue, tan"


def test_what_the_original_leaves_out(read) -> None:
    items = read({}, {"asin": "nan"}, {"asin": "B" * 11}, {"name": "repeated"}, {"asin": "B2"})
    assert [(item.asin, item.title) for item in items] == [("B1", "Lumo Lamp"), ("B2", "Lumo Lamp")]


def test_attributes_and_instructions(read) -> None:
    known = {"attributes": ["warm"], "instruction": "Find me", "instruction_attributes": ["warm"]}
    human = [
        {"instruction": "A lamp.", "instruction_attributes": ["x"], "instruction_options": ["tan"]},
        {"instruction": "None.", "instruction_attributes": [], "instruction_options": []},
    ]
    first, second = read({}, {"asin": "B2"}, attributes={"B1": known}, human={"B1": human})
    assert first.attributes == ("warm",)
    assert first.instruction is not None
    assert first.instruction.text == "Find me"
    assert [asked.text for asked in first.human_instructions] == ["A lamp."]
    assert (second.attributes, second.instruction) == (("DUMMY_ATTR",), None)
    assert first.query == "desk lamps"


def test_json_brings_it_back(read) -> None:
    known = {"attributes": ["warm"], "instruction": "Find me", "instruction_attributes": ["warm"]}
    options = {"Color": [{"value": "red"}]}
    (item,) = read({"customization_options": options}, attributes={"B1": known})
    assert Product.from_json(item.to_json()) == item


def test_missing_files_are_named(read, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"no items_shuffle\*.json\*.*fetch"):
        list(read_products(tmp_path))
    read({})
    (tmp_path / "title_nouns.json").unlink()
    with pytest.raises(MissingDataError, match=r"title_nouns.*webshop\.nouns"):
        list(read_products(tmp_path))


def test_two_data_sets_in_a_folder_are_refused(read, tmp_path: Path) -> None:
    read({})
    (tmp_path / "items_shuffle_1000.json").write_text("[]")
    with pytest.raises(ConfigError, match=r"items_shuffle\.json, items_shuffle_1000\.json"):
        list(read_products(tmp_path))


def test_a_title_without_nouns_is_named(read) -> None:
    with pytest.raises(ConfigError, match="lacks product B1"):
        read({}, nouns={})
