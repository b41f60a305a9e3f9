"""How it is talked to: the paper's template, the compact form, and what is cut."""

import pytest

from sampo.envs import PromptView
from sampo.errors import ConfigError
from sampo_envs.webshop import CompactPrompt, WebShopPrompt
from sampo_envs.webshop.prompt import cut

FIRST = "WebShop [SEP] Instruction: [SEP] Find a lamp [SEP] Search"
PAGE = "Instruction: [SEP] Find a lamp [SEP] Back to Search [SEP] < Prev [SEP] It's {bright}."


def view(**changes) -> PromptView:
    fields = {
        "observation": PAGE,
        "first_observation": FIRST,
        "history": ((FIRST, "search[lamp]"),),
        "turn": 1,
        "admissible_actions": ["click[back to search]", "click[< prev]"],
    }
    return PromptView(**{**fields, **changes})


def test_the_first_prompt_is_the_papers() -> None:
    actions = ["search[<your query>]"]
    first = view(observation=FIRST, history=(), turn=0, admissible_actions=actions)
    assert (
        WebShopPrompt()
        .message(first)
        .startswith(
            "You are an expert autonomous agent operating in the WebShop e-commerce environment.\n"
            "Your task is to: Find a lamp.\n"
            "Your current observation is: 'Search'.\n"
            "Your admissible actions of the current situation are:\n"
            "[\n'search[<your query>]',\n].\n\n"
            "Now it's your turn to take one action for the current step.\n"
        )
    )


def test_later_prompts_have_the_last_turns() -> None:
    assert (
        "Your task is to: Find a lamp.\n"
        "Prior to this step, you have already taken 1 step(s). Below are the most recent 1 "
        "observations and the corresponding actions you took:\n"
        "[Observation 1: ''Search'', Action 1: 'search[lamp]']\n"
        "You are now at step 2 and your current observation is: "
        "'Back to Search' [SEP] '< Prev' [SEP] 'It's {bright}.'.\n"
        "Your admissible actions of the current situation are:\n"
        "[\n'click[back to search]',\n'click[< prev]',\n]."
    ) in WebShopPrompt().message(view())


def test_a_followup_is_the_page_and_the_actions() -> None:
    text = WebShopPrompt().followup(view())
    assert text.startswith("You are now at step 2 and")
    assert text.endswith("\n].")
    assert "Find a lamp" not in text


def test_the_compact_form_is_the_task_the_actions_taken_and_the_page() -> None:
    prompt = CompactPrompt()
    expected = "find a lamp\nsearch[lamp]\nback to search\n< prev\nit's {bright}."
    assert prompt.message(view()) == expected
    assert prompt.reply("click[buy now]") == "<action>click[buy now]</action>"


def test_long_pages_and_lists_lose_their_middle() -> None:
    prompt = WebShopPrompt(page_chars=100, actions_chars=50)
    long = PAGE + " [SEP] " + "x" * 300 + " [SEP] Buy Now"
    text = prompt.message(view(observation=long, admissible_actions=["click[" + "y" * 200 + "]"]))
    start = text.index("observation is: ") + len("observation is: ")
    page = text[start : text.index(".\nYour admissible")]
    assert page.startswith("'Back to Search' [SEP] '< Prev' [SEP]")
    assert page.endswith("x' [SEP] 'Buy Now'")
    assert "(279 characters left out)" in page
    assert len(page) == 100 + len(" ... (279 characters left out) ... ")
    assert "y" * 51 not in text
    assert "Observation 1: ''Search''" in text  # the history stays


def test_the_longest_prompts_stay_below_the_papers_limit() -> None:
    pages = tuple((PAGE + "z" * 20_000, "click[next >]") for _ in range(2))
    actions = [f"click[{number}]" for number in range(2000)]
    long = view(observation=pages[0][0], history=pages, turn=9, admissible_actions=actions)
    assert 12_000 < len(WebShopPrompt().message(long)) < 14_000


@pytest.mark.parametrize(("limit", "expected"), [(10, "0123456789"), (99, "0123456789")])
def test_short_texts_are_not_cut(limit: int, expected: str) -> None:
    assert cut("0123456789", limit) == expected


def test_cutting_keeps_both_ends() -> None:
    assert cut("0123456789", 5) == "012 ... (5 characters left out) ... 89"
    assert cut("0123456789", 1) == "0 ... (9 characters left out) ... "


def test_replies_are_valid_by_their_form_alone() -> None:
    prompt, listed = WebShopPrompt(), ["click[a]"]
    good = prompt.parse("<think>hm</think><action>search[red lamp]</action>", listed)
    assert (good.action, good.valid) == ("search[red lamp]", True)
    bare = prompt.parse("<action>click[a]</action>", listed)
    assert (bare.action, bare.valid) == ("click[a]", False)
    assert not prompt.parse("no action", listed).valid


@pytest.mark.parametrize("name", ["page_chars", "actions_chars"])
def test_limits_must_be_positive(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is 0"):
        WebShopPrompt(**{name: 0})
