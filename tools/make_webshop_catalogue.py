"""Make the catalogue that comes with the package: a few hundred products that nobody sells.

    python tools/make_webshop_catalogue.py envs/sampo_envs/webshop/made_up

Writes the three files of a WebShop data folder, in the format of the real ones. The same seed gives
the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from random import Random

# category > path > query: (kinds, attributes, options)
KINDS = {
    ("garden", "Home & Kitchen › Furniture › Living Room Furniture", "console tables"): (
        ["console table", "sofa table", "side table"],
        ["solid wood", "easy assembly", "living room", "space saving", "steel frame"],
        {"color": ["walnut", "white", "espresso"], "size": ["40 inch", "54 inch"]},
    ),
    ("garden", "Home & Kitchen › Bedding › Pillows", "throw pillows"): (
        ["throw pillow", "pillow cover", "cushion case"],
        ["machine washable", "super soft", "double sided", "living room", "hidden zipper"],
        {"color": ["navy", "beige", "mustard", "rust"], "size": ["18 x 18", "20 x 20"]},
    ),
    ("fashion", "Clothing, Shoes & Jewelry › Men › Clothing › Shirts", "men's polos"): (
        ["polo shirt", "golf shirt", "henley shirt"],
        ["moisture wicking", "short sleeve", "regular fit", "button closure", "polyester cotton"],
        {"color": ["black", "royal", "heather grey"], "size": ["small", "medium", "large"]},
    ),
    ("fashion", "Clothing, Shoes & Jewelry › Women › Shoes › Boots", "women's boots"): (
        ["ankle boots", "rain boots", "hiking boots"],
        ["rubber sole", "water resistant", "memory foam", "arch support", "slip resistant"],
        {"color": ["tan", "black", "olive"], "size": ["6", "7.5", "8", "9 wide"]},
    ),
    ("beauty", "Beauty & Personal Care › Hair Care › Shampoo", "shampoo"): (
        ["shampoo", "hair mask", "scalp scrub"],
        ["sulfate free", "tea tree", "dry hair", "cruelty free", "natural ingredients"],
        {"scent": ["lavender", "citrus", "unscented"], "size": ["8 fl oz", "16 fl oz"]},
    ),
    ("beauty", "Beauty & Personal Care › Tools & Accessories › Brushes", "makeup brushes"): (
        ["brush set", "powder brush", "blending sponge"],
        ["easy clean", "vegan bristles", "travel size", "sensitive skin", "eye shadow"],
        {"color": ["rose", "silver", "mint"]},
    ),
    ("electronics", "Electronics › Accessories & Supplies › Cables", "hdmi cables"): (
        ["hdmi cable", "charging cable", "audio cable"],
        ["gold plated", "high speed", "fast charging", "braided cord", "plug play"],
        {"size": ["3 feet", "6 feet", "10 feet"], "package": ["1 pack", "3 pack"]},
    ),
    ("electronics", "Electronics › Headphones, Earbuds & Accessories", "headphones"): (
        ["headphones", "earbuds", "headset"],
        ["noise cancelling", "wireless bluetooth", "hands free", "long lasting", "carrying case"],
        {"color": ["black", "coral", "ivory"]},
    ),
    ("grocery", "Grocery & Gourmet Food › Snack Foods › Bars", "granola bars"): (
        ["granola bars", "protein bars", "fruit crisps"],
        ["gluten free", "non gmo", "plant based", "low sugar", "individually wrapped"],
        {"flavor name": ["peanut", "blueberry", "coffee"], "size": ["6 count", "12 count"]},
    ),
    ("grocery", "Grocery & Gourmet Food › Beverages › Tea", "herbal tea"): (
        ["herbal tea", "green tea", "chai latte mix"],
        ["caffeine free", "usda organic", "artificial flavors", "resealable bag", "high quality"],
        {"flavor name": ["ginger", "mint", "hibiscus"], "size": ["20 bags", "100 bags"]},
    ),
}
START = ("Al", "Bri", "Cor", "Del", "Fen", "Gal", "Hol", "Jun", "Kes", "Lor", "Mar", "Nov", "Os")
END = ("bex", "dane", "fell", "gora", "lith", "mira", "nola", "quill", "rin", "sett", "tova", "wyn")
# Of these are asins: ten capitals as real ones, but few tokens for a small vocabulary.
ONSETS, RIMES = "DFGKLMNPRSTV", ("AL", "EN", "IR", "OS", "UM")
PER_KIND = 10


def make_product(rng: Random, group: tuple[str, str, str], kind: str) -> tuple[dict, dict, dict]:
    """Return the record, the attributes and the nouns of one product."""
    category, path, query = group
    _, attributes, all_options = KINDS[group]
    has = rng.sample(attributes, rng.randint(2, 4))
    brand = rng.choice(START) + rng.choice(END)
    title = f"{brand} {kind.title()}, {has[0].title()} and {has[1].title()}"
    low = rng.randrange(500, 9000) / 100
    high = round(low + rng.randrange(200, 2000) / 100, 2)
    options = {
        name: [
            {"value": value} for value in sorted(rng.sample(values, rng.randint(2, len(values))))
        ]
        for name, values in all_options.items()
        if rng.random() < 0.8
    }
    asin = "B" + "".join(rng.choice(ONSETS) + rng.choice(RIMES) for _ in range(3))
    record = {
        "name": title,
        "full_description": f"The {brand} {kind} is made with care. It is known for: "
        f"{', '.join(has)}. Comes with a card and a spare part.",
        "small_description": [f"{text.capitalize()}: as {query} should be." for text in has],
        "product_category": path,
        "category": category,
        "query": query,
        "customization_options": options or "",
        "asin": asin,
        "pricing": rng.choice([f"${low}", f"${low}", f"${low} - ${high}", ""]),
    }
    asked = rng.sample(has, min(len(has), rng.randint(1, 3)))
    sentence = f"Find me {', '.join(asked)} {query}"
    known = {"attributes": has, "instruction": sentence, "instruction_attributes": asked}
    nouns = [brand.lower(), *kind.split(), has[0].split()[-1], has[1].split()[-1]]
    return record, known, {"nouns": sorted(set(nouns)), "len_with_repeats": len(nouns)}


def write(path: Path, content: object) -> None:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = Random(args.seed)
    made = [
        make_product(rng, group, kind)
        for group, (kinds, *_) in KINDS.items()
        for kind in kinds
        for _ in range(PER_KIND)
    ]
    rng.shuffle(made)
    assert len({record["asin"] for record, _, _ in made}) == len(made)
    args.folder.mkdir(parents=True, exist_ok=True)
    write(args.folder / "items_shuffle_made_up.json.gz", [record for record, _, _ in made])
    write(
        args.folder / "items_ins_v2_made_up.json.gz",
        {record["asin"]: known for record, known, _ in made},
    )
    write(
        args.folder / "title_nouns_made_up.json.gz",
        {record["asin"]: nouns for record, _, nouns in made},
    )
    print(f"{len(made)} products")


if __name__ == "__main__":
    main()
