"""Shops to test with: the made-up catalogue always, the real one where it is."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sampo_envs.webshop import Product, Shop, data_folder, open_shop

REAL = os.environ.get("SAMPO_WEBSHOP_DATA")


@pytest.fixture(scope="session")
def shop(cache: Path) -> Shop:
    """The made-up catalogue."""
    return open_shop(data_folder("made-up"), "synthetic", 42)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of the real 1,000-product set."""
    if REAL is None:
        pytest.skip("SAMPO_WEBSHOP_DATA names no folder with the real 1,000-product set")
    return Path(REAL)


@pytest.fixture(scope="session")
def real_shop(cache: Path, real_data: Path) -> Shop:
    """The real 1,000-product set."""
    return open_shop(real_data, "synthetic", 42)


@pytest.fixture
def make_product() -> Callable[..., Product]:
    """Return a maker of a red lamp, with changes."""

    def make(**changes: Any) -> Product:
        fields: dict[str, Any] = {
            "asin": "B000000001",
            "title": "Lumo Desk Lamp",
            "description": "Lights a desk.",
            "bullets": ("Easy assembly: two screws.", "Warm light."),
            "prices": (25.0,),
            "options": (("color", ("red", "blue")), ("size", ("small",))),
            "attributes": ("energy efficient", "steel frame"),
            "category": "garden",
            "query": "desk lamps",
            "product_category": "Home › Lighting › Lamps",
            "nouns": ("desk", "lamp", "lumo"),
            "noun_count": 4,
            "instruction": None,
            "human_instructions": (),
        }
        return Product(**{**fields, **changes})

    return make
