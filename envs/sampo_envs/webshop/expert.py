"""An expert that buys the goal's product through the pages.

It searches in the words of the instruction, as a policy could, and only where that does not lead to
the product, by its title. It leaves pages that do not help by `Back to Search`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sampo_envs.webshop.goals import Goal
from sampo_envs.webshop.pages import BACK, BUY, NEXT, PAGE_SIZE, PREVIOUS, SUB_PAGES, Visit
from sampo_envs.webshop.reward import matches_any


def advise(visit: Visit, goal: Goal, search: Callable[[str], Sequence[str]]) -> str | None:
    """Return a good action, or None where the episode is over.

    Args:
        visit: Where the shopper stands.
        goal: What to buy.
        search: Returns the asins that a query finds.
    """
    asin = goal.product.asin
    if visit.page == "done":
        return None
    if visit.page == "start":
        return f"search[{_query(goal, search)}]"
    if visit.page == "results":
        return _go_to_product(visit, asin, search)
    if visit.asin != asin or visit.page in SUB_PAGES:
        return _click(PREVIOUS)
    chosen = dict(visit.options)
    missing = (value for name, value in _wanted(goal) if chosen.get(name) != value)
    return _click(next(missing, BUY))


def _go_to_product(visit: Visit, asin: str, search: Callable[[str], Sequence[str]]) -> str:
    """Return the click that leads from a page of results towards a product."""
    assert visit.query is not None
    results = search(visit.query)
    if asin not in results:
        return _click(BACK)
    number = results.index(asin) // PAGE_SIZE + 1
    if visit.number == number:
        return _click(asin)
    return _click(NEXT if visit.number < number else PREVIOUS)


def _query(goal: Goal, search: Callable[[str], Sequence[str]]) -> str:
    """Return the instruction without its price, or the title where that finds nothing."""
    asked = goal.instruction.partition(", and price lower than")[0]
    # Brackets would end the argument of the action.
    queries = [
        " ".join(text.lower().replace("[", " ").replace("]", " ").split())
        for text in (asked, goal.product.title)
    ]
    return next((query for query in queries if goal.product.asin in search(query)), queries[0])


def _wanted(goal: Goal) -> list[tuple[str, str]]:
    """Return the (name, value) pairs to choose, those left out that a click cannot choose.

    A value of two options is chosen for the last of them only.
    """
    chosen_by = {value: name for name, values in goal.product.options for value in values}
    pairs = []
    for want in goal.options:
        if isinstance(want, tuple):
            pairs.append(want)
        else:
            pairs += [(name, v) for v, name in chosen_by.items() if matches_any([v], want)][:1]
    return [(name, value) for name, value in pairs if chosen_by[value] == name]


def _click(text: str) -> str:
    return f"click[{text.lower()}]"
