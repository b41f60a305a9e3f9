"""Prompts, word for word, and what a reply means."""

import pytest

from sampo.envs import PromptView
from sampo_envs.alfworld import AlfworldPrompt, CompactPrompt
from sampo_envs.alfworld.prompt import room_of, task_of

FIRST = (
    "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly "
    "around you, you see a desk 2, a desk 1, and a bed 1.\n\nYour task is to: put two cd in desk."
)
THERE = "You arrive at desk 2. On the desk 2, you see a cd 1, and a mug 3."
ACTIONS = ["examine desk 2", "go to bed 1", "inventory", "look", "take cd 1 from desk 2"]


def view(turn: int) -> PromptView:
    history = [(FIRST, "go to bed 1"), ("On the bed 1, you see nothing.", "go to desk 2")]
    return PromptView(
        observation=THERE if turn else FIRST,
        first_observation=FIRST,
        history=tuple(history[:turn][-2:]),
        turn=turn,
        admissible_actions=ACTIONS,
    )


def test_the_papers_first_prompt() -> None:
    assert AlfworldPrompt().message(view(0)) == (
        "You are an expert agent operating in the ALFRED Embodied Environment.\n"
        f"Your current observation is: {FIRST}\n"
        "Your admissible actions of the current situation are: ['examine desk 2'\n 'go to bed 1'\n "
        "'inventory'\n 'look'\n 'take cd 1 from desk 2'].\n\n"
        "Now it's your turn to take an action.\n"
        "You should first reason step-by-step about the current situation. This reasoning process "
        "MUST be enclosed within <think> </think> tags.\n"
        "Once you've finished your reasoning, you should choose an admissible action for current "
        "step and present it within <action> </action> tags."
    )


def test_the_papers_later_prompts() -> None:
    lines = AlfworldPrompt().message(view(2)).split("\n")
    assert lines[0] == (
        "You are an expert agent operating in the ALFRED Embodied Environment. "
        "Your task is to: put two cd in desk."
    )
    assert lines[1] == (
        "Prior to this step, you have already taken 2 step(s). Below are the most recent 2 "
        "observations and the corresponding actions you took:"
    )
    assert "[Observation 2: 'On the bed 1, you see nothing.', Action 2: 'go to desk 2']" in lines
    assert f"You are now at step 3 and your current observation is: {THERE}" in lines


def test_the_compact_prompt() -> None:
    prompt = CompactPrompt()
    assert prompt.message(view(0)) == "put two cd in desk\nbed 1, desk 2\nexamine desk 2, take cd 1"
    assert prompt.message(view(2)) == (
        "put two cd in desk\nbed 1, desk 2\ngo to bed 1\ngo to desk 2\nYou arrive at desk 2\n"
        "examine desk 2, take cd 1"
    )
    assert prompt.reply("look") == "<action>look</action>"


@pytest.mark.parametrize(
    ("reply", "action", "well_formed", "valid"),
    [
        ("<think>a</think><action>Take cd 1 from desk 2</action>", ACTIONS[4], True, True),
        ("<think>a</think>\n<action> look </action>\n", "look", True, True),
        ("<think>a</think><action>dance</action>", "dance", True, False),
        ("<action>look</action>", "look", False, False),
        ("<think>a</think><action>look</action> done", "look", False, False),
        ("<think>看</think><action>look</action>", "look", False, False),
        (
            "I think I should take a look at that",
            "ink I should take a look at that"[-30:],
            False,
            False,
        ),
        ("", None, False, False),
    ],
)
def test_strict_validity(reply: str, action: str | None, well_formed: bool, valid: bool) -> None:
    parsed = AlfworldPrompt().parse(reply, ACTIONS)
    assert (parsed.action, parsed.format_valid, parsed.valid) == (action, well_formed, valid)


def test_texts_of_another_kind_do_no_harm() -> None:
    assert (task_of("hello"), room_of("hello")) == ("hello", "")
