"""Goals: what a shopper is told to buy.

A *synthetic* goal is a product's instruction with one combination of its options; a *human* goal is
an instruction that somebody wrote. Both get a price limit. Their number, order, limits and texts
are those of the original, given the seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import NamedTuple

from sampo_envs.webshop.catalogue import Instruction, Product

LIMITS = [10.0 * i for i in range(1, 100)]
"""The price limits there are, in dollars."""
NO_LIMIT = 1_000_000.0
"""The limit of goals whose product is too dear for any other."""
ORDER_SEED = 233
"""Seed of the order of the goals, as in the original."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """One shopping task."""

    index: int
    """Its place in the list of goals."""
    product: Product
    """The product that it was made from."""
    instruction: str
    """The task in words, with options and price limit."""
    attributes: tuple[str, ...]
    options: tuple[tuple[str, str] | str, ...]
    """(name, value) pairs of a synthetic goal, values of a human one."""
    price_upper: float
    """Most that a purchase may cost, in dollars."""


class GoalRow(NamedTuple):
    """A goal before its words are put together."""

    product: int
    """Number of the product."""
    choice: int
    """Synthetic: number of the combination of options; human: -1, -2, ... by instruction."""
    price_upper: float
    weight: float
    """How rare its attributes are; what the original draws goals by where none is named."""


def draw_prices(products: Sequence[Product], rng: Random) -> list[float]:
    """Return what each product costs; one with a range of prices gets one drawn from it."""
    return [
        item.prices[0] if len(item.prices) == 1 else rng.uniform(*item.prices) for item in products
    ]


def list_goals(
    products: Sequence[Product], prices: Sequence[float], kind: str, rng: Random
) -> list[GoalRow]:
    """Return all goals in the original's order.

    Args:
        products: The catalogue.
        prices: What each product costs.
        kind: `synthetic` or `human`.
        rng: Draws the price limits; in the original, it has drawn the prices before.
    """
    rows = list((_human if kind == "human" else _synthetic)(products, prices, rng))
    Random(ORDER_SEED).shuffle(rows)
    return rows


def make_goal(index: int, row: GoalRow, item: Product) -> Goal:
    """Return a goal with its words.

    Args:
        index: Its place in the list.
        row: What it is made of; the weight plays no part.
        item: Its product.
    """
    limit = ""
    if row.price_upper != NO_LIMIT:
        limit = f", and price lower than {row.price_upper:.2f} dollars"
    if row.choice < 0:
        asked = item.human_instructions[-1 - row.choice]
        text, options = asked.text.strip("."), asked.options
    else:
        asked = _asked(item)
        options = tuple(_combination(item, row.choice))
        named = ", and ".join(f"{name}: {value}" for name, value in options)
        text = f"{asked.text} with {named}" if named else asked.text
    return Goal(
        index=index,
        product=item,
        instruction=text + limit,
        attributes=asked.attributes,
        options=options,
        price_upper=row.price_upper,
    )


def _synthetic(
    products: Sequence[Product], prices: Sequence[float], rng: Random
) -> Iterator[GoalRow]:
    """Yield for each product with an instruction one goal per combination of its options."""
    asking = [(number, item) for number, item in enumerate(products) if item.instruction]
    counts: Counter[str] = Counter()
    for _, item in asking:
        for attribute in _asked(item).attributes:
            counts[attribute] += _combinations(item)
    for number, item in asking:
        limit = _draw_limit(prices[number], rng)
        attributes = _asked(item).attributes
        weight = sum(1.0 / counts[attribute] for attribute in attributes) / len(attributes)
        for choice in range(_combinations(item)):
            yield GoalRow(number, choice, limit, weight)


def _human(products: Sequence[Product], prices: Sequence[float], rng: Random) -> Iterator[GoalRow]:
    """Yield one goal per instruction that somebody wrote."""
    for number, item in enumerate(products):
        for position in range(len(item.human_instructions)):
            yield GoalRow(number, -1 - position, _draw_limit(prices[number], rng), 1.0)


def _draw_limit(price: float, rng: Random) -> float:
    """Return the larger of two of the four limits next above a price."""
    limits = [limit for limit in LIMITS if limit > price][:4]
    return max(rng.sample(limits, 2)) if len(limits) >= 2 else NO_LIMIT


def _asked(item: Product) -> Instruction:
    assert item.instruction is not None
    return item.instruction


def _combinations(item: Product) -> int:
    return prod(len(values) for _, values in item.options)


def _combination(item: Product, number: int) -> list[tuple[str, str]]:
    """Return the (name, value) pairs of a combination, names in order; the last turns fastest."""
    pairs = []
    for name, values in sorted(item.options, reverse=True):
        number, place = divmod(number, len(values))
        pairs.append((name, values[place]))
    return pairs[::-1]
