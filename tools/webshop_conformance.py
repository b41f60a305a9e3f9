"""Replay sessions recorded with the original WebShop, and compare every page.

    SAMPO_WEBSHOP_DATA=... python tools/webshop_conformance.py sessions.jsonl.gz

A session passes when its goal, every observation, the available actions, rewards and ends are equal
to the recorded ones. So that a difference in search does not spoil the pages after it, a page of
results is shown with the recorded products in the recorded order; how often our own search finds
the same is reported apart. `--queries` compares it with recorded result lists, too.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sampo_envs.webshop import Goal, Shop, Site, Visit, data_folder, open_shop, score
from sampo_envs.webshop.pages import NEXT, PAGE_SIZE, PREVIOUS

PAGE = "Page {} (Total results: "


class Replay:
    """One recorded session, played again."""

    def __init__(self, shop: Shop, session: dict[str, Any]) -> None:
        self._shop = shop
        self._session = session
        self._goal = shop.goal(session["goal_index"])
        self._forced: dict[str, list[str]] = {}
        self._site = Site(self._goal.instruction, product=shop.product, search=self._search)
        self.searches: list[bool] = []
        """For each page of results: whether our own search finds the same."""

    def differences(self) -> Iterator[str]:
        """Yield what differs from the record, up to the first step that does."""
        yield from goal_differences(self._shop, self._goal, self._session["goal"])
        visit = Visit()
        for number, step in enumerate(self._session["steps"]):
            if number:
                visit = self._site.follow(visit, step["action"])
            where = f"step {number}, {step.get('action', 'reset')!r}: "
            found = list(self._step_differences(visit, step))
            yield from (where + difference for difference in found)
            if found:
                return

    def _step_differences(self, visit: Visit, step: dict[str, Any]) -> Iterator[str]:
        avail = step["avail"]
        if visit.page == "results":
            self._force(visit, step["obs"], avail["clickables"])
        reward = None
        if visit.page == "done":
            assert visit.asin is not None
            chosen = [value for _, value in visit.options]
            price = self._shop.price(visit.asin)
            reward = score(self._shop.product(visit.asin), chosen, price, self._goal).total
        text = self._site.text(visit, reward)
        if text != step["obs"]:
            yield f"the page is {text!r}, recorded {step['obs']!r}"
        if (clickables := list(self._site.clickables(visit))) != avail["clickables"]:
            yield f"the clickables are {clickables}, recorded {avail['clickables']}"
        if (visit.page == "start") != avail["has_search_bar"]:
            yield f"has_search_bar is recorded as {avail['has_search_bar']}"
        if "reward" in step:
            ours = (reward or 0.0, visit.page == "done")
            if ours[1] != step["done"] or not math.isclose(ours[0], step["reward"], abs_tol=1e-9):
                yield f"(reward, done) is {ours}, recorded {(step['reward'], step['done'])}"

    def _force(self, visit: Visit, text: str, clickables: Sequence[str]) -> None:
        """Note the recorded products of a page of results, and whether our own are the same."""
        _, found, tail = text.partition(PAGE.format(visit.number))
        if not found or visit.query is None:
            return  # not the page that we are on: the texts will differ
        keys = {"back to search", NEXT.lower(), PREVIOUS.lower()}
        asins = [name.upper() for name in clickables if name not in keys]
        total = int(tail.partition(")")[0])
        start = (visit.number - 1) * PAGE_SIZE
        ours = self._shop.search(visit.query)
        self.searches.append(list(ours[start : start + PAGE_SIZE]) == asins and len(ours) == total)
        results = self._forced.get(visit.query, [*ours, *[""] * total])[:total]
        results[start : start + len(asins)] = asins
        self._forced[visit.query] = results

    def _search(self, query: str) -> Sequence[str]:
        return self._forced[query] if query in self._forced else self._shop.search(query)


def goal_differences(shop: Shop, goal: Goal, recorded: dict[str, Any]) -> Iterator[str]:
    """Yield in which fields a goal differs from the recorded one."""
    item = goal.product
    pairs = [want for want in goal.options if isinstance(want, tuple)]
    ours = {
        "asin": item.asin,
        "category": item.category,
        "query": item.query,
        "name": item.title,
        "product_category": item.product_category,
        "instruction_text": goal.instruction,
        "attributes": list(goal.attributes),
        "price_upper": goal.price_upper,
        "goal_options": dict(pairs) if len(pairs) == len(goal.options) else list(goal.options),
        "weight": shop.weight(goal.index),
    }
    for name, value in recorded.items():
        same = value == ours.get(name)
        if name == "weight":
            same = math.isclose(value, ours[name], rel_tol=1e-9)
        if not same:
            yield f"the goal's {name} is {ours.get(name)!r}, recorded {value!r}"


def read_lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        yield from (line for line in file if line.strip())


def compare_queries(shop: Shop, path: Path) -> str:
    recorded = json.loads("".join(read_lines(path)))
    pages = lists = 0
    for query, hits in recorded.items():
        ours, theirs = list(shop.search(query)), [asin for asin, *_ in hits]
        pages += ours[:PAGE_SIZE] == theirs[:PAGE_SIZE]
        lists += ours == theirs
    count = len(recorded)
    return (
        f"{count} queries: the first page is equal in order for {pages / count:.2%}, all 50 "
        f"results for {lists / count:.2%}"
    )


def main() -> int:
    """Return 0 if every session passes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sessions", type=Path, metavar="FILE", help="sessions, one JSON per line")
    parser.add_argument("--queries", type=Path, help="JSON: query to [[asin, score], ...]")
    parser.add_argument("--data", default="fetched", help="data folder; see WebShopEnv")
    parser.add_argument("--goals", default="synthetic", choices=("synthetic", "human"))
    parser.add_argument("--price-seed", type=int, default=42)
    args = parser.parse_args()
    shop = open_shop(data_folder(args.data), args.goals, args.price_seed)
    failed = passed = 0
    searches: list[bool] = []
    for number, line in enumerate(read_lines(args.sessions)):
        replay = Replay(shop, json.loads(line))
        found = list(replay.differences())
        searches += replay.searches
        failed, passed = failed + bool(found), passed + (not found)
        for difference in found:
            print(f"session {number}: {difference}")
    print(f"pages of results that our search gives equally: {sum(searches)} of {len(searches)}")
    if args.queries:
        print(compare_queries(shop, args.queries))
    print(f"{passed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
