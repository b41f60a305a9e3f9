"""What a policy is told, and how its replies are read."""

from __future__ import annotations

from sampo.envs import PromptView
from sampo_envs.sokoban import ACTIONS, CompactPrompt, SokobanPrompt
from sampo_envs.sokoban.prompt import RULES


def view(turn: int = 0, history: tuple[tuple[str, str], ...] = ()) -> PromptView:
    return PromptView(
        observation="# P #",
        first_observation="# X #",
        history=history,
        turn=turn,
        admissible_actions=ACTIONS,
    )


def test_full_text_has_rules_legend_history_observation_and_actions_in_this_order():
    message = SokobanPrompt().message(view(turn=3, history=(("# O #", "left"),)))
    parts = [
        RULES,
        "X is a box",
        "already taken 3 step(s)",
        "[Observation 3: '# O #', Action 3: 'left']",
        "step 4",
        "# P #",
        "up, down, left, right",
        "<think>",
        "<action>",
    ]
    places = [message.index(part) for part in parts]
    assert places == sorted(places)
    assert "Observation 1" not in SokobanPrompt().message(view())


def test_full_text_demands_a_thought():
    prompt = SokobanPrompt()
    assert prompt.parse("<think>so</think><action>up</action>", ACTIONS).valid
    assert not prompt.parse("<action>up</action>", ACTIONS).valid
    assert prompt.parse("<action>up</action>", ACTIONS).action == "up"
    assert not prompt.parse("<think>上</think><action>up</action>", ACTIONS).valid


def test_compact_is_the_observation_alone():
    prompt = CompactPrompt()
    assert prompt.message(view()) == prompt.followup(view()) == "# P #"
    assert prompt.message(view(turn=2, history=(("# O #", "left"),))) == "# O # left\n# P #"


def test_compact_wants_the_action_alone():
    prompt = CompactPrompt()
    assert prompt.parse("<action>up</action>", ACTIONS).valid
    assert not prompt.parse("<think>so</think><action>up</action>", ACTIONS).valid
    assert not prompt.parse("<action>jump</action>", ACTIONS).valid
    assert not prompt.parse("up", ACTIONS).valid


def test_demonstrations_read_back():
    for prompt in (SokobanPrompt(), CompactPrompt()):
        for action in ACTIONS:
            parsed = prompt.parse(prompt.reply(action), ACTIONS)
            assert parsed.valid and parsed.action == action
