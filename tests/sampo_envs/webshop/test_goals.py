"""Goals: their number, texts, limits and order."""

from random import Random

import pytest

from sampo_envs.webshop import Shop
from sampo_envs.webshop.catalogue import Instruction
from sampo_envs.webshop.goals import LIMITS, NO_LIMIT, GoalRow, draw_prices, list_goals, make_goal

ASKED = Instruction(text="Find me warm lamps", attributes=("warm", "steel"))


def test_one_goal_per_combination(make_product) -> None:
    options = (("size", ("small", "large")), ("color", ("red", "blue", "tan")))
    item = make_product(options=options, instruction=ASKED)
    rows = list_goals([make_product(), item], [1.0, 25.0], "synthetic", Random(0))
    assert sorted(row.choice for row in rows) == [0, 1, 2, 3, 4, 5]
    assert {row.product for row in rows} == {1}
    assert len({row.price_upper for row in rows}) == 1  # drawn once per product
    goals = [make_goal(index, row, item) for index, row in enumerate(rows)]
    assert len({goal.options for goal in goals}) == 6
    first = next(goal for goal, row in zip(goals, rows, strict=True) if row.choice == 1)
    assert first.options == (("color", "red"), ("size", "large"))  # sorted; the last turns first
    assert first.instruction.startswith("Find me warm lamps with color: red, and size: large, and")


def test_the_limit_is_the_larger_of_two_of_the_next_four(make_product) -> None:
    item = make_product(options=(), instruction=ASKED)
    drawn = {list_goals([item], [25.0], "synthetic", Random(s))[0].price_upper for s in range(60)}
    assert drawn == {40.0, 50.0, 60.0}


@pytest.mark.parametrize(("price", "limited"), [(969.0, True), (979.9, True), (980.0, False)])
def test_dear_products_have_no_limit(make_product, price: float, limited: bool) -> None:
    item = make_product(options=(), instruction=ASKED)
    (row,) = list_goals([item], [price], "synthetic", Random(0))
    assert (row.price_upper in LIMITS) == limited
    assert (", and price lower than" in make_goal(0, row, item).instruction) == limited
    assert limited or row.price_upper == NO_LIMIT


def test_human_goals_keep_their_own_options(make_product) -> None:
    asked = (
        Instruction(text="a red one.", attributes=("warm",), options=("red",)),
        Instruction(text="any", attributes=("warm",)),
    )
    item = make_product(human_instructions=asked)
    rows = list_goals([item], [25.0], "human", Random(0))
    goals = {row.choice: make_goal(0, row, item) for row in rows}
    assert goals[-1].options == ("red",)
    assert goals[-1].instruction.startswith("a red one, and price lower than ")
    assert goals[-2].options == ()
    assert {row.weight for row in rows} == {1.0}


def test_weights_favour_rare_attributes(make_product) -> None:
    other = Instruction(text="Find me", attributes=("warm",))
    items = [make_product(instruction=ASKED), make_product(instruction=other, options=())]
    rows = list_goals(items, [1.0, 1.0], "synthetic", Random(0))
    weights = {row.product: row.weight for row in rows}
    assert weights == {0: (1 / 3 + 1 / 2) / 2, 1: 1 / 3}  # warm: 2 + 1 goals, steel: 2


def test_prices_are_drawn_from_their_range(make_product) -> None:
    items = [make_product(), make_product(prices=(10.0, 20.0))]
    assert draw_prices(items, Random(1)) == [25.0, Random(1).uniform(10.0, 20.0)]


def test_rows_make_the_same_goal_again(shop: Shop) -> None:
    assert isinstance(GoalRow(0, 0, 1.0, 1.0), tuple)
    assert shop.goal(7) == shop.goal(7)
    assert shop.goal(7).index == 7


def test_the_original_has_6910_goals(real_shop: Shop) -> None:
    assert real_shop.num_goals == 6910
    goal = real_shop.goal(3814)  # of the first recorded session
    assert goal.product.asin == "B09Q5ZHRVM"
    assert goal.instruction == (
        "Find me long lasting, moisture wicking, loose fit men's shorts with elastic waistband, "
        "quality materials, polyester cotton, short sleeve with color: black, and size: xx-large, "
        "and price lower than 40.00 dollars"
    )
    assert real_shop.weight(3814) == pytest.approx(0.0097968953979191, rel=1e-12)
