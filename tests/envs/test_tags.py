"""Replies good and bad, and what prompts look like."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampo.envs import PromptView, TagPrompt
from sampo.errors import ConfigError

UP = ["up", "down"]


def read(reply: str, admissible: list[str] | None = UP, **options):
    parsed = TagPrompt(**options).parse(reply, admissible)
    return parsed.action, parsed.format_valid, parsed.valid


@pytest.mark.parametrize(
    ("think", "with_think", "without_think"),
    [("required", True, False), ("optional", True, True), ("forbidden", False, True)],
)
def test_whether_a_think_block_must_may_or_must_not_come_first(think, with_think, without_think):
    both = read("<think>why</think><action>up</action>", think=think)
    bare = read("<action>up</action>", think=think)
    assert both == ("up", with_think, with_think)
    assert bare == ("up", without_think, without_think)


@pytest.mark.parametrize(
    "reply",
    [
        " <think>a\n< b ></think>\n\n <action> UP\n</action>\n",
        "<think></think><action>Up</action>",
        "<action>up</action>",
    ],
)
def test_white_space_and_capitals_are_forgiven(reply):
    assert read(reply) == ("up", True, True)


@pytest.mark.parametrize(
    "reply",
    [
        "so <think>a</think><action>up</action>",  # text before,
        "<think>a</think> so <action>up</action>",  # between
        "<think>a</think><action>up</action>.",  # and after the blocks
        "<action>up</action><think>a</think>",  # wrong order
        "<action>up</action><action>down</action>",  # two actions: the first counts
        "<think>a</think><think>b</think><action>up</action>",  # two thoughts
        "<think>a<action>up</action>",  # thought not closed
        "a</think><action>up</action>",  # thought not opened
        "<think>a<action>up</action></think>",  # nested
        "<think>a<think>b</think></think><action>up</action>",
        "<action>go <action>up</action></action>",  # the innermost counts
        "</action><action>up</action>",
        "<think>a</think><ACTION>up</ACTION>",  # tags are written small
    ],
)
def test_an_action_in_a_bad_wrapping_is_executed_yet_invalid(reply):
    assert read(reply) == ("up", False, False)


@pytest.mark.parametrize(
    "reply",
    ["", "up", "<action>up", "up</action>", "</action>up<action>", "<action> \n</action>", "<act"],
)
def test_without_an_action_block_there_is_no_action(reply):
    assert read(reply) == (None, False, False)


def test_the_last_characters_may_stand_in_for_a_missing_action():
    assert read("I think I shall go up", fallback_last_chars=5) == ("go up", False, False)
    assert read("up", fallback_last_chars=30) == ("up", False, False)
    assert read("", fallback_last_chars=30) == (None, False, False)
    assert read("a <action>down</action>", fallback_last_chars=3) == ("down", False, False)


def test_admissible_actions_decide_where_they_are_known():
    assert read("<action>fly</action>") == ("fly", True, False)
    assert read("<action>Fly High</action>", None) == ("Fly High", True, True)
    # The environment is given its own spelling.
    assert read("<action>search[a]</action>", ["Search[A]"]) == ("Search[A]", True, True)
    assert read("<action>up</action>", []) == ("up", True, False)


def test_chinese_characters_can_be_forbidden():
    reply = "<think>向上</think><action>up</action>"
    assert read(reply) == ("up", True, True)
    assert read(reply, forbid_cjk=True) == ("up", False, False)


@pytest.mark.parametrize(
    "reply",
    [
        "<think>" * 14_000,
        "<action>" * 12_000 + "</action>" * 12_000,
        "<think>" + "<" * 100_000,
        "<action>" + " " * 100_000,
        "<think></think>" + " \n" * 50_000 + "x",
        "</think>" * 12_000 + "<action>up</action>",
    ],
)
def test_hostile_replies_take_linear_time(reply):
    """Quadratic work on 100,000 characters would take minutes."""
    start = time.process_time()
    assert not read(reply)[1]
    assert time.process_time() - start < 1.0


PIECES = ["<think>", "</think>", "<action>", "</action>", "up", " ", "\n", "x", "<", "向", "ACTION"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_the_form_is_what_its_definition_says(reply):
    """Against the definition, spelled out with str methods only."""

    def block(text: str, tag: str) -> str | None:
        """Return what follows the block, or None where the text does not start with one."""
        text = text.strip()
        opening, closing = f"<{tag}>", f"</{tag}>"
        if not text.startswith(opening) or text.count(opening) != 1 or text.count(closing) != 1:
            return None
        return text.partition(closing)[2] if closing in text else None

    rest = block(reply, "think") if "think>" in reply else reply
    end = None if rest is None else block(rest, "action")
    inner = "" if rest is None else rest.partition("<action>")[2].partition("</action>")[0]
    thought = reply.partition("<think>")[2].partition("</think>")[0]
    expected = end is not None and not end.strip() and bool(inner.strip())
    expected = expected and "action>" not in thought and reply.count("think>") in (0, 2)
    assert read(reply)[1] == expected


@pytest.mark.parametrize("think", ["required", "optional", "forbidden"])
@pytest.mark.parametrize("thought", ["", "Because."])
def test_demonstrations_are_read_back(think, thought):
    prompt = TagPrompt(think=think, demonstration_thought=thought)
    parsed = prompt.parse(prompt.reply("go north"), ["go north"])
    assert (parsed.action, parsed.valid) == ("go north", True)
    wrote_thought = "<think>" in prompt.reply("up")
    assert wrote_thought == (think == "required" or (think == "optional" and thought != ""))


def view(turn: int, shown: int, actions: list[str] | None = UP) -> PromptView:
    past = [(f"o{i}", f"a{i}") for i in range(1, turn + 1)]
    return PromptView(
        observation="now {x}",
        first_observation="o1",
        history=past[len(past) - shown :],
        turn=turn,
        admissible_actions=actions,
    )


def test_the_first_message_has_no_history():
    assert TagPrompt(task="Find {it}.").message(view(0, 0)) == (
        "Find {it}.\n"
        "You are now at step 1. Current observation:\n"
        "now {x}\n"
        "Admissible actions: up, down\n"
        "You may reason inside <think> </think> tags first; then give one action inside "
        "<action> </action> tags and write nothing after them."
    )


def test_later_messages_show_the_window():
    """Five turns taken, two shown: turns 4 and 5; the task of the first observation is repeated."""
    prompt = TagPrompt(task="Go.", first="Task: {observation}", instruction="Answer.")
    assert prompt.message(view(5, 2, None)) == (
        "Go.\n"
        "Task: o1\n"
        "You have already taken 5 step(s). The most recent 2:\n"
        "[Observation 4: 'o4', Action 4: 'a4']\n"
        "[Observation 5: 'o5', Action 5: 'a5']\n"
        "You are now at step 6. Current observation:\n"
        "now {x}\n"
        "Answer."
    )
    assert "Task:" not in prompt.message(view(2, 2))  # the history shows it


def test_a_followup_shows_the_present_only():
    assert TagPrompt(task="Go.").followup(view(2, 0)) == (
        "You are now at step 3. Current observation:\nnow {x}\nAdmissible actions: up, down"
    )


def test_every_part_can_be_left_out():
    """For policies that count their tokens."""
    prompt = TagPrompt(
        history_intro="",
        history_item="{observation}>{action}",
        current="{observation}",
        actions="",
        instruction="",
        separator=" ",
    )
    assert prompt.message(view(2, 2)) == "o1>a1 o2>a2 now {x}"


def test_mistakes_in_settings_are_told():
    with pytest.raises(ConfigError, match=r"current has no placeholder \{obs\}; it knows observ.*"):
        TagPrompt(current="{obs}")
    with pytest.raises(ConfigError, match="Did you mean 'observation'"):
        TagPrompt(first="{observatoin}")
    with pytest.raises(ConfigError, match=r"history_intro='{' is no template"):
        TagPrompt(history_intro="{")
    with pytest.raises(ConfigError, match="think='maybe' is not one of required, optional"):
        TagPrompt(think="maybe")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="fallback_last_chars=-1 is negative"):
        TagPrompt(fallback_last_chars=-1)
