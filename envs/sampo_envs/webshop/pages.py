"""The web shop's pages: what they say, what can be clicked, and where it leads.

A `Visit` is where a shopper stands; `Site` is the shop seen with one goal in mind. Pages are not
kept as HTML: a page is its list of visible texts, which the observation joins with ` [SEP] `.

References:
    The templates and `SimServer` of WebShop (`web_agent_site/envs/web_agent_text_env.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from sampo_envs.webshop.catalogue import Product

PAGE_SIZE = 10
"""Results per page."""
SEPARATOR = " [SEP] "
SUB_PAGES = ("description", "features", "reviews")
SEARCH, BACK, PREVIOUS, NEXT, BUY = "Search", "Back to Search", "< Prev", "Next >", "Buy Now"
_HTML_SPACES = " \n\t\f\r"


class Visit(NamedTuple):
    """Where a shopper stands, and all that an action may change."""

    page: str = "start"
    """`start`, `results`, `item`, one of `SUB_PAGES`, or `done`."""
    query: str | None = None
    number: int = 0
    """Page number of the results, from 1."""
    asin: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    """(name, value) of the options chosen, in the order of their first choice."""


class Site:
    """The pages as one shopper sees them.

    Args:
        instruction: The task, shown on every page.
        product: Returns the product of an asin.
        search: Returns the asins that a query finds, best first.
    """

    def __init__(
        self,
        instruction: str,
        *,
        product: Callable[[str], Product],
        search: Callable[[str], Sequence[str]],
    ) -> None:
        self._instruction = instruction
        self._product = product
        self._search = search

    def follow(self, visit: Visit, action: str) -> Visit:
        """Return where an action leads: the same visit, if it means nothing here.

        Args:
            visit: Any visit but one that is done.
            action: `search[words]`, understood on every page, or `click[text]`.
        """
        name, argument = parse_action(action)
        if name == "search" and argument:
            return Visit("results", argument, 1)
        if name != "click" or argument == SEARCH.lower():
            return visit
        clickables = self.clickables(visit)
        return self._click(visit, argument, clickables) if argument in clickables else visit

    def clickables(self, visit: Visit) -> dict[str, str | None]:
        """Return what can be clicked, in lower case, and the option that a click chooses, if any.

        A value that two options share chooses it for the last of them, as in the original.
        """
        found: dict[str, str | None] = {}
        if visit.page == "done":
            return found
        if visit.page == "start":
            return {SEARCH.lower(): None}
        found[BACK.lower()] = None
        if visit.page != "results" or visit.number > 1:
            found[PREVIOUS.lower()] = None
        if visit.page == "results":
            found[NEXT.lower()] = None
            found.update((asin.lower(), None) for asin in self.results(visit))
        if visit.page == "item":
            found.update(dict.fromkeys((*SUB_PAGES, BUY.lower())))
            for name, values in self._shown(visit).options:
                found.update((value, name) for value in values)
        return found

    def results(self, visit: Visit) -> Sequence[str]:
        """Return the asins on a page of results."""
        assert visit.query is not None
        end = visit.number * PAGE_SIZE
        return self._search(visit.query)[end - PAGE_SIZE : end]

    def text(self, visit: Visit, reward: float | None = None) -> str:
        """Return the observation of a page.

        Args:
            visit: Where the shopper stands.
            reward: The score of the purchase, shown on the page `done`.
        """
        if visit.page == "done":
            return SEPARATOR.join(_done(visit, reward))
        texts = list(self._texts(visit))
        # A browser shows no text that is all white space; of these, the original drops only the
        # ones with a line break.
        kept = (text for text in texts if text.strip(_HTML_SPACES) or (text and "\n" not in text))
        return SEPARATOR.join(text.strip() for text in kept)

    def _texts(self, visit: Visit) -> Iterator[str]:
        if visit.page == "start":
            yield "WebShop"
        yield from ("Instruction:", self._instruction)
        if visit.page == "start":
            yield SEARCH
            return
        yield BACK
        if visit.page == "results":
            yield from self._result_texts(visit)
            return
        yield PREVIOUS
        shown = self._shown(visit)
        if visit.page == "item":
            for name, values in shown.options:
                yield from (name, *values)
            yield from (shown.title, f"Price: {shown.price_tag}", "Rating: N.A.")
            yield from (*(name.capitalize() for name in SUB_PAGES), BUY)
        elif visit.page == "description":
            yield shown.description
        elif visit.page == "features":
            yield from (f" {bullet}" for bullet in shown.bullets)

    def _result_texts(self, visit: Visit) -> Iterator[str]:
        assert visit.query is not None
        yield f"Page {visit.number} (Total results: {len(self._search(visit.query))})"
        if visit.number > 1:
            yield PREVIOUS
        yield NEXT
        for asin in self.results(visit):
            item = self._product(asin)
            yield from (asin, item.title, item.price_tag)

    def _click(self, visit: Visit, name: str, clickables: dict[str, str | None]) -> Visit:
        """Return where a click on something that can be clicked leads."""
        if name == BUY.lower():
            return visit._replace(page="done")
        if name == BACK.lower():
            return Visit()
        if visit.page == "results":
            step = {NEXT.lower(): 1, PREVIOUS.lower(): -1}.get(name)
            if step is not None:
                return visit._replace(number=visit.number + step)
            return visit._replace(page="item", asin=name.upper())
        if name == PREVIOUS.lower():
            if visit.page == "item":
                return Visit("results", visit.query, visit.number)
            return visit._replace(page="item")
        if name in SUB_PAGES:
            return visit._replace(page=name)
        option = clickables[name]
        assert option is not None
        return visit._replace(options=tuple({**dict(visit.options), option: name}.items()))

    def _shown(self, visit: Visit) -> Product:
        assert visit.asin is not None
        return self._product(visit.asin)


def parse_action(action: str) -> tuple[str, str]:
    """Return name and argument (in lower case) of an action; two empty texts where it is none.

    The argument begins after the last bracket that it can begin after, as in the original.

    Example:
        >>> parse_action("search[Red shoes]"), parse_action("search[hdmi [3 pack] cable]")
        (('search', 'red shoes'), ('search[hdmi ', '3 pack] cable'))
    """
    line = action.partition("\n")[0]
    end = line.rfind("]")
    start = line.rfind("[", 1, max(end - 1, 1))
    return (line[:start], line[start + 1 : end].lower()) if start > 0 else ("", "")


def _done(visit: Visit, reward: float | None) -> Iterator[str]:
    """Yield the texts of the page after a purchase; the original leaves most of it empty."""
    # Flask writes it so: keys sorted, and characters that mean something in HTML escaped.
    options = json.dumps(dict(visit.options), sort_keys=True)
    for character in "<>&'":
        options = options.replace(character, f"\\u{ord(character):04x}")
    yield from ("Thank you for shopping with us!", "Your code:", "None")
    yield from ("(Paste it in your MTurk interface.)", "Purchased", "asin", str(visit.asin))
    for name, value in (("options", options), ("attrs", "None"), ("category", "None")):
        yield from (name, value)
    yield from ("query", "None", "product category", "None", "Target", "asin", "options", "attrs")
    yield from ("price upper", "instuction text", "category", "product category", "query")
    yield from ("Goal", "None", "Reward", "Your score (min 0.0, max 1.0)", str(reward))
    yield from ("Reward Details", "None")
