"""What a reply means, and what a message shows."""

import pytest

from sampo.envs import PromptView
from sampo_envs.tools import ToolPrompt

CALL = "```python\nprint(1)\n```"


@pytest.mark.parametrize(
    ("reply", "action", "valid"),
    [
        (CALL, CALL, True),
        (f"Let me compute.\n{CALL}\n", CALL, True),
        ("```py\nprint(1)\n```", CALL, True),
        (f"{CALL}\nIt prints 1, so \\boxed{{1}}.", CALL, False),
        (f"{CALL}\n```python\nprint(2)\n```", CALL, False),
        (r"So it is \boxed{\frac{1}{2}}.", r"\boxed{\frac{1}{2}}", True),
        (f"\\boxed{{3}}, to be checked:\n{CALL}", r"\boxed{3}", False),
        ("```python\nprint(r'\\boxed{1}')\n```", "```python\nprint(r'\\boxed{1}')\n```", True),
    ],
)
def test_reads_calls_and_answers(reply: str, action: str, valid: bool) -> None:
    parsed = ToolPrompt().parse(reply, None)
    assert (parsed.action, parsed.format_valid, parsed.valid) == (action, valid, valid)


@pytest.mark.parametrize("reply", ["", "I do not know.", "```python\nprint(1)", "```sql\nx\n```"])
def test_a_void_reply_has_no_action(reply: str) -> None:
    parsed = ToolPrompt().parse(reply, None)
    assert parsed.action is None and not parsed.format_valid and not parsed.valid


def test_demonstrations_are_read_back() -> None:
    prompt = ToolPrompt(call_thought="I compute it.", answer_thought="So it is")
    assert prompt.reply(CALL) == f"I compute it.\n{CALL}"
    for action in (CALL, r"\boxed{1}"):
        parsed = prompt.parse(prompt.reply(action), None)
        assert parsed.action == action and parsed.valid


def view(turn: int, history: tuple = (), observation: str = "now") -> PromptView:
    return PromptView(
        observation=observation,
        first_observation="question",
        history=history,
        turn=turn,
        admissible_actions=None,
    )


def test_messages_of_a_window_show_the_question_once() -> None:
    prompt = ToolPrompt(task="Do it.", separator="|")
    assert prompt.message(view(0, observation="question")) == "Do it.|question"
    first, second = ("question", "a1"), ("r1", "a2")
    assert prompt.message(view(2, (first, second))) == "Do it.|question|a1|r1|a2|now"
    assert prompt.message(view(2, (second,))) == "Do it.|question|r1|a2|now"
    assert prompt.message(view(2)) == "Do it.|question|now"
    assert prompt.followup(view(2)) == "now"
