"""The known catalogues: what their goals and splits are, as digests in `manifest.json`.

    python -m sampo_envs.webshop.manifest FOLDER

prints the entry of a data folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from sampo_envs.webshop.data import data_folder
from sampo_envs.webshop.shop import Shop, open_shop
from sampo_envs.webshop.splits import SPLITS

PRICE_SEED = 42
"""The seed of prices and price limits that the digests are made with."""


def read_manifest() -> dict[str, Any]:
    """Return the entry of each known catalogue by its name."""
    text = files(__package__ or "").joinpath("manifest.json").read_text(encoding="utf-8")
    return json.loads(text)


def describe(shop: Shop) -> dict[str, Any]:
    """Return number and SHA-256 of the goals (asin and instruction) and of each split."""
    goals = (shop.goal(index) for index in range(shop.num_goals))
    entry: dict[str, Any] = {
        "goals": shop.num_goals,
        "sha256": _digest(f"{goal.product.asin} {goal.instruction}" for goal in goals),
    }
    for number, split in enumerate(SPLITS):
        owned = shop.goals_of(number)
        entry[split] = {"goals": len(owned), "sha256": _digest(str(index) for index in owned)}
    return entry


def name_of(entry: dict[str, Any]) -> str | None:
    """Return the name of the known catalogue with these goals and splits, or None."""
    return next((name for name, known in read_manifest().items() if known == entry), None)


def _digest(lines: Iterable[str]) -> str:
    total = hashlib.sha256()
    for line in lines:
        total.update(line.encode() + b"\n")
    return total.hexdigest()


def main() -> None:
    """Print the entry of the folder that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", help="a data folder, or made-up, or fetched")
    folder = data_folder(parser.parse_args().folder)
    entry = describe(open_shop(folder, "synthetic", PRICE_SEED))
    sys.stdout.write(json.dumps(entry, indent=2) + "\n")


if __name__ == "__main__":
    main()
