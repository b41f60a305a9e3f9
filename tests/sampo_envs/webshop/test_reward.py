"""The task score, worked out by hand."""

from typing import Any

import pytest

from sampo_envs.webshop import Goal, score


@pytest.fixture
def make_goal(make_product):
    """Return a maker of the goal to buy the red, small lamp for at most 30 dollars."""

    def make(**changes: Any) -> Goal:
        fields: dict[str, Any] = {
            "index": 0,
            "product": make_product(),
            "instruction": "Find me ...",
            "attributes": ("steel frame", "easy assembly"),
            "options": (("color", "red"), ("size", "small")),
            "price_upper": 30.0,
        }
        return Goal(**{**fields, **changes})

    return make


def test_what_was_asked_for_scores_one(make_product, make_goal) -> None:
    got = score(make_product(nouns=("desk", "lamp")), ["red", "small"], 25.0, make_goal())
    assert (got.total, got.attributes, got.options, got.price, got.title) == (1, 1, 1, 1, 0.5)


@pytest.mark.parametrize(
    ("chosen", "price", "expected"),
    [
        ([], 25.0, 3 / 5),
        (["red"], 25.0, 4 / 5),
        (["blue", "small"], 25.0, 4 / 5),
        (["red", "small"], 30.0, 1.0),
        (["red", "small"], 30.01, 4 / 5),
    ],
)
def test_options_and_price(make_product, make_goal, chosen, price: float, expected: float) -> None:
    assert score(make_product(), chosen, price, make_goal()).total == pytest.approx(expected)


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("frame steel", True),  # the same words
        ("steel frame tall", True),  # all words of the product's and more
        ("steel frames", True),  # ratio 96
        ("wood frame", False),
        ("two screws", True),  # stands in the features
        ("desk lamp", True),  # in the title
        ("lights a desk.", True),  # in the description
        ("Two screws", False),  # the goal's is taken as it is written
    ],
)
def test_attributes(make_product, make_goal, attribute: str, expected: bool) -> None:
    goal = make_goal(attributes=(attribute,))
    assert score(make_product(), [], 1.0, goal).attributes == expected


@pytest.mark.parametrize(
    ("wanted", "chosen", "expected"),
    [
        (("color", "red"), "dark red | white", False),  # the first color of the list is dark
        (("color", "red"), "wine red", True),  # red comes before wine in the list
        (("color", "navy blue"), "navy gray", False),  # "gray" against "color navy blue"
        (("color", "navy blue"), "navy blue", True),  # "blue" is one of these three words
        (("size", "3 pack"), "3 pack", True),
        (("size", "3 pack"), "2 pack", False),
        ("navy blue", "blue | tan", True),  # human goals: both are blue
    ],
)
def test_options_match_by_color_or_words(
    make_product, make_goal, wanted: Any, chosen: str, expected: bool
) -> None:
    goal = make_goal(options=(wanted,))
    assert score(make_product(), [chosen], 1.0, goal).options == expected


def test_a_goal_without_options_has_none_missing(make_product, make_goal) -> None:
    got = score(make_product(), [], 25.0, make_goal(options=()))
    assert (got.total, got.options) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("changes", "factor"),
    [
        ({}, 1.0),
        ({"nouns": ("lamp",), "query": "x", "product_category": "y"}, 1.0),  # 1/4 of the nouns
        ({"nouns": ("sofa",)}, 0.0),
    ],
)
def test_type_factor(make_product, make_goal, changes: dict[str, Any], factor: float) -> None:
    assert score(make_product(**changes), [], 1.0, make_goal()).type_factor == factor


@pytest.mark.parametrize(
    ("count", "changes", "factor"),
    [
        (5, {"query": "x", "product_category": "y"}, 0.5),  # a fifth is not above 0.2
        (5, {"query": "x"}, 1.0),  # three common categories
        (5, {"query": "x", "product_category": "Home › Y"}, 0.5),  # one is too few
        (5, {"product_category": "y"}, 1.0),  # found by the same query
        (10, {}, 1.0),
        (11, {}, 0.1),  # below a tenth, whatever else is the same
    ],
)
def test_the_nouns_of_the_title(make_product, make_goal, count, changes, factor: float) -> None:
    goal = make_goal(product=make_product(noun_count=count))
    bought = make_product(nouns=("lamp", "else"), **changes)
    assert score(bought, [], 1.0, goal).type_factor == factor


def test_a_title_without_nouns_is_neither_like_nor_unlike(make_product, make_goal) -> None:
    goal = make_goal(product=make_product(nouns=(), noun_count=0))
    assert score(make_product(query="x", product_category="y"), [], 1.0, goal).type_factor == 0.5
