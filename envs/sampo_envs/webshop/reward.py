"""The task score of a purchase, between 0 and 1.

    score = type factor * (attributes matched + options matched + price kept) / (their number)

Matching is fuzzy, with the thresholds of the original.

References:
    `web_agent_site/engine/goal.py` of WebShop; its fuzzy matcher is thefuzz 0.22, which rounds the
    scores of rapidfuzz.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sampo.errors import MissingDependencyError
from sampo_envs.webshop.catalogue import Product
from sampo_envs.webshop.goals import Goal

try:
    from rapidfuzz.fuzz import token_set_ratio
    from rapidfuzz.utils import default_process
except ImportError as error:
    raise MissingDependencyError(
        "WebShop: the package rapidfuzz is not installed. Install it with "
        "`pip install sampo[webshop]`."
    ) from error

CLOSE_MATCH = 85
"""Two texts match when their rounded token-set ratio is above this."""
SIMILAR_TITLE, POOR_TITLE = 0.2, 0.1
"""Title scores that make a product of the asked type, and those below which it hardly is one."""
_COLORS = (
    "alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown "
    "burgundy camel camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee "
    "cognac copper coral cranberry cream crystal dark denim eggplant elephant espresso fuchsia "
    "gold granite grape graphite grass gray green grey heather indigo ivory ivy khaki lavender "
    "lemon leopard light lilac lime magenta maroon mauve merlot midnight mint mocha multicolor "
    "mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow red "
    "rose royal rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan "
    "taupe teal tiger turquoise violet walnut wheat white wine yellow"
)
COLORS = tuple(_COLORS.split())
"""Words that stand for a whole option value that holds them; the first one found counts."""
_LATIN_1 = dict.fromkeys(range(128, 256))


@dataclass(frozen=True, kw_only=True)
class Score:
    """How good a purchase is."""

    total: float
    """The task score; 1 is what the goal asks for."""
    type_factor: float
    """1, 0.5, 0.1 or 0: whether it is the kind of thing that was asked for."""
    title: float
    """Share of the nouns of the goal's title that its title has."""
    attributes: float
    """Share of the goal's attributes that it has."""
    options: float
    """Share of the goal's options that were chosen; 1 where the goal has none."""
    price: float
    """1 where the price is within the limit, else 0."""


def score(bought: Product, chosen: Sequence[str], price: float, goal: Goal) -> Score:
    """Return the score of a purchase.

    Args:
        bought: The product.
        chosen: The values of its options that were chosen.
        price: What it costs, in dollars.
        goal: What was asked for.
    """
    factor, title = _type(bought, goal.product)
    attributes = sum(_has_attribute(bought, wanted) for wanted in goal.attributes)
    options = sum(matches_any(chosen, want) for want in goal.options)
    in_limit = price <= goal.price_upper
    wanted = len(goal.attributes) + len(goal.options) + 1
    return Score(
        total=(attributes + options + in_limit) / wanted * factor,
        type_factor=factor,
        title=title,
        attributes=attributes / len(goal.attributes),
        options=options / len(goal.options) if goal.options else 1.0,
        price=float(in_limit),
    )


def _type(bought: Product, wanted: Product) -> tuple[float, float]:
    """Return the type factor and the title score."""
    title = 0.2
    if wanted.noun_count:
        title = len(set(bought.nouns) & set(wanted.nouns)) / wanted.noun_count
    if title == 0.0:
        return 0.0, title
    if title < POOR_TITLE:
        return 0.1, title
    common = _categories(bought) & _categories(wanted)
    alike = bought.query == wanted.query or len(common) >= 2 or title > SIMILAR_TITLE
    return (1.0 if alike else 0.5), title


def _categories(item: Product) -> set[str]:
    return {name.strip() for name in item.product_category.split("›")}


def _has_attribute(bought: Product, wanted: str) -> bool:
    """Return whether an attribute is close to one of the product's, or stands in its texts."""
    return (
        any(_close(attribute, wanted) for attribute in bought.attributes)
        or wanted in bought.title.lower()
        or wanted in " ".join(bought.bullets).lower()
        or wanted in bought.description.lower()
    )


def matches_any(chosen: Sequence[str], wanted: tuple[str, str] | str) -> bool:
    """Return whether one of the chosen values is close to a wanted option."""
    target = _color_or_all(wanted)
    return any(_close(_color_or_all(value), target) for value in chosen)


def _color_or_all(option: tuple[str, str] | str) -> str:
    """Return the first color in a value, or all of it.

    A (name, value) pair holds a color only where the whole name or value is one; otherwise it is
    compared as Python writes it, as the original does.
    """
    return next((color for color in COLORS if color in option), str(option))


@lru_cache(maxsize=2**16)
def _close(left: str, right: str) -> bool:
    """Return whether two texts share their words, by the rounded token-set ratio."""
    return round(token_set_ratio(_words(left), _words(right))) > CLOSE_MATCH


def _words(text: str) -> str:
    """Return lower-case letters and digits with spaces between them; letters of Latin-1 go."""
    return default_process(text.translate(_LATIN_1))
