"""The expert: buys the goal's product from wherever it stands."""

from random import Random

import pytest

from sampo_envs.webshop import Shop, Site, Visit, score
from sampo_envs.webshop.expert import advise


def shop_with_expert(shop: Shop, index: int, rng: Random, noise: float) -> tuple[float, int]:
    """Return the score of an episode and its turns; some of these are random clicks."""
    goal = shop.goal(index)
    site = Site(goal.instruction, product=shop.product, search=shop.search)
    visit, turns = Visit(), 0
    while visit.page != "done":
        action = advise(visit, goal, shop.search)
        assert action is not None
        clicks = [text for text in site.clickables(visit) if text != "buy now"]
        if turns < 20 and rng.random() < noise:
            action = f"click[{rng.choice(clicks)}]"
        after = site.follow(visit, action)
        assert after != visit or turns < 20, f"{action} leads nowhere from {visit}"
        visit, turns = after, turns + 1
    assert advise(visit, goal, shop.search) is None
    chosen = [value for _, value in visit.options]
    return score(shop.product(visit.asin), chosen, shop.price(visit.asin), goal).total, turns


def test_it_buys_what_was_asked_for(shop: Shop) -> None:
    played = [shop_with_expert(shop, index, Random(0), 0.0) for index in range(0, 1175, 6)]
    assert sum(total == 1.0 for total, _ in played) / len(played) > 0.95
    assert max(turns for _, turns in played) <= 10


def test_it_finds_its_way_from_anywhere(shop: Shop) -> None:
    rng = Random(1)
    goals = range(0, 1175, 25)
    straight = [shop_with_expert(shop, index, rng, 0.0)[0] for index in goals]
    wandering = [shop_with_expert(shop, index, rng, 0.5)[0] for index in goals]
    assert sum(total == 1.0 for total in straight) > 40  # the others cannot be won in its way
    assert wandering == straight


def test_it_wins_as_often_as_real_goals_allow(real_shop: Shop) -> None:
    played = [shop_with_expert(real_shop, index, Random(0), 0.0) for index in range(0, 6910, 23)]
    totals = [total for total, _ in played]
    assert sum(total == 1.0 for total in totals) / len(totals) == pytest.approx(0.934, abs=0.02)
    assert sum(totals) / len(totals) == pytest.approx(0.991, abs=0.01)
    assert max(turns for _, turns in played) <= 15
