"""Pages: their texts, what can be clicked, and where it leads."""

import pytest

from sampo_envs.webshop import Site, Visit
from sampo_envs.webshop.pages import parse_action

RESULTS = [f"B{number:09}" for number in range(1, 13)]


@pytest.fixture
def site(make_product) -> Site:
    """Twelve lamps, whatever is searched for but `nothing`."""
    return Site(
        "Find a lamp",
        product=lambda asin: make_product(asin=asin),
        search=lambda query: [] if query == "nothing" else RESULTS,
    )


def walk(site: Site, *actions: str) -> Visit:
    visit = Visit()
    for action in actions:
        visit = site.follow(visit, action)
    return visit


@pytest.mark.parametrize(
    ("actions", "text"),
    [
        ([], "WebShop [SEP] Instruction: [SEP] Find a lamp [SEP] Search"),
        (
            ["search[lamp]", "click[next >]"],
            "Instruction: [SEP] Find a lamp [SEP] Back to Search [SEP] Page 2 (Total results: 12) "
            "[SEP] < Prev [SEP] Next > [SEP] B000000011 [SEP] Lumo Desk Lamp [SEP] $25.0 "
            "[SEP] B000000012 [SEP] Lumo Desk Lamp [SEP] $25.0",
        ),
        (
            ["search[nothing]"],
            "Instruction: [SEP] Find a lamp [SEP] Back to Search "
            "[SEP] Page 1 (Total results: 0) [SEP] Next >",
        ),
        (
            ["search[lamp]", "click[b000000003]"],
            "Instruction: [SEP] Find a lamp [SEP] Back to Search [SEP] < Prev [SEP] color [SEP] "
            "red [SEP] blue [SEP] size [SEP] small [SEP] Lumo Desk Lamp [SEP] Price: $25.0 [SEP] "
            "Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] Buy Now",
        ),
        (
            ["search[lamp]", "click[b000000003]", "click[features]"],
            "Instruction: [SEP] Find a lamp [SEP] Back to Search [SEP] < Prev "
            "[SEP] Easy assembly: two screws. [SEP] Warm light.",
        ),
        (
            ["search[lamp]", "click[b000000003]", "click[reviews]"],
            "Instruction: [SEP] Find a lamp [SEP] Back to Search [SEP] < Prev",
        ),
    ],
)
def test_texts(site: Site, actions: list[str], text: str) -> None:
    assert site.text(walk(site, *actions)) == text


def test_white_space_is_shown_as_the_original_does(make_product) -> None:
    bullets = ("", "  ", "\n", "\xa0", " a ")
    item = make_product(bullets=bullets, description="")
    site = Site("Find", product=lambda _: item, search=lambda _: RESULTS)
    start = "Instruction: [SEP] Find [SEP] Back to Search [SEP] < Prev"
    assert site.text(Visit("description", "q", 1, "B1")) == start
    # Bullets stand after a blank; the one with a line break is dropped.
    assert site.text(Visit("features", "q", 1, "B1")) == f"{start} [SEP]  [SEP]  [SEP]  [SEP] a"


def test_the_page_after_a_purchase(site: Site) -> None:
    visit = Visit("done", "q", 1, "B1", (("size", "8'"), ("color", "a & b")))
    text = site.text(visit, 0.25)
    assert text.startswith("Thank you for shopping with us! [SEP] Your code: [SEP] None")
    assert '[SEP] B1 [SEP] options [SEP] {"color": "a \\u0026 b", "size": "8\\u0027"}' in text
    assert text.endswith("Your score (min 0.0, max 1.0) [SEP] 0.25 [SEP] Reward Details [SEP] None")
    assert not site.clickables(visit)


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (["search[lamp]", "click[back to search]"], Visit()),
        (["search[Lamp]"], Visit("results", "lamp", 1)),
        (["search[a]", "click[next >]", "search[b]"], Visit("results", "b", 1)),
        (["search[a]", "click[next >]", "click[< prev]"], Visit("results", "a", 1)),
        (["search[a]", "click[< prev]"], Visit("results", "a", 1)),  # page 1 has no such button
        (["search[a]", *["click[next >]"] * 9], Visit("results", "a", 10)),  # there is no last page
        (["search[a]", "click[b000000012]"], Visit("results", "a", 1)),  # not on this page
        (["search[a]", "click[B000000002]"], Visit("item", "a", 1, "B000000002")),
        (["click[search]"], Visit()),
        (["click[buy now]"], Visit()),
        (["buy now"], Visit()),
        (["search[]"], Visit()),
        (["Search[lamp]"], Visit()),  # the name must be written so
    ],
)
def test_links(site: Site, actions: list[str], expected: Visit) -> None:
    assert walk(site, *actions) == expected


def test_options_are_kept_on_sub_pages_and_lost_on_results(site: Site) -> None:
    on_item = ["search[a]", "click[next >]", "click[b000000011]", "click[blue]"]
    red = walk(site, *on_item, "click[small]", "click[red]")
    assert red.options == (("color", "red"), ("size", "small"))
    assert walk(site, *on_item, "click[description]").page == "description"
    back = walk(site, *on_item, "click[description]", "click[< prev]")
    assert (back.page, back.options) == ("item", (("color", "blue"),))
    assert walk(site, *on_item, "click[< prev]") == Visit("results", "a", 2)
    bought = walk(site, *on_item, "click[buy now]")
    assert (bought.page, bought.asin, bought.options) == ("done", RESULTS[10], back.options)


def test_clickables_are_in_the_order_of_the_original(site: Site) -> None:
    assert list(site.clickables(walk(site))) == ["search"]
    results = list(site.clickables(walk(site, "search[a]", "click[next >]")))
    assert results == ["back to search", "< prev", "next >", "b000000011", "b000000012"]
    item = list(site.clickables(walk(site, "search[a]", "click[b000000001]")))
    assert item == [
        *("back to search", "< prev", "description", "features", "reviews", "buy now"),
        *("red", "blue", "small"),
    ]


def test_a_value_of_two_options_belongs_to_the_last(make_product) -> None:
    item = make_product(options=(("top", ("red", "search")), ("bottom", ("red", "features"))))
    site = Site("Find", product=lambda _: item, search=lambda _: RESULTS)
    on_item = Visit("item", "a", 1, "B1")
    assert site.follow(on_item, "click[red]").options == (("bottom", "red"),)
    assert site.follow(on_item, "click[features]").page == "features"
    assert site.follow(on_item, "click[search]") == on_item


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("search[Red Lamp]", ("search", "red lamp")),
        ("search[a[b]", ("search[a", "b")),
        ("search[a]]", ("search", "a]")),
        ("search[a] and more", ("search", "a")),
        ("click[a\n]", ("", "")),
        ("click[]", ("", "")),
        ("[a]", ("", "")),
        ("[[a]", ("[", "a")),
        ("", ("", "")),
        ("]", ("", "")),
        ("[" * 10_000, ("", "")),
    ],
)
def test_actions_are_read_as_in_the_original(action: str, expected: tuple[str, str]) -> None:
    assert parse_action(action) == expected
