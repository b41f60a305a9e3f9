"""The tag dialect: `<think>...</think><action>...</action>`.

The prompt format of the paper's environments, and the default one here. It builds user messages
out of short text fields, so that an environment only gives its strings, and reads replies strictly
and in linear time, whatever a policy writes. It knows no tokens and no chat template.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Literal

from sampo.envs.prompt import ParsedAction, PromptFormat, PromptView
from sampo.errors import ConfigError, did_you_mean

_TAG = re.compile(r"</?(?:think|action)>", re.IGNORECASE)
_CJK = re.compile("[\u4e00-\u9fff]")
_THINK = ("<think>", "</think>")
_ACTION = ("<action>", "</action>")
_FORMS = {
    "required": (_THINK + _ACTION,),
    "optional": (_THINK + _ACTION, _ACTION),
    "forbidden": (_ACTION,),
}
_PLACEHOLDERS = {
    "history_intro": {"turn", "count"},
    "history_item": {"index", "observation", "action"},
    "first": {"observation"},
    "current": {"turn", "step", "observation"},
    "actions": {"actions"},
}


@dataclass(frozen=True, kw_only=True)
class TagPrompt(PromptFormat):
    """Ask for one `<action>` block, with or without a `<think>` block before it.

    A user message is made of parts, joined by `separator`; an empty part is left out:

    1. `task`: who the policy is and what it is to do;
    2. `first`, from the second turn on, where the window no longer shows the first observation;
    3. from the second turn on, `history_intro` and one `history_item` per turn shown;
    4. `current`: the present step and observation;
    5. `actions`: the admissible actions, where they are known;
    6. `instruction`: how to answer.

    A `followup` (transcript context) has parts 4 and 5 only.

    A reply has the demanded form (`format_valid`) when it is nothing but the demanded blocks, each
    tag exactly once and in lower case, only white space outside of the blocks, and something in
    the action block. It is `valid` when, besides, its action is admissible, capitals ignored. A
    reply of another form that still holds an action block is executed, yet invalid.

    Raises:
        ConfigError: A text field names a placeholder that it does not have.

    References:
        ARLArena, https://arxiv.org/abs/2602.21534, whose ALFWorld is `think="required"`,
        `forbid_cjk=True`, `fallback_last_chars=30`.

    Example:
        >>> prompt = TagPrompt(task="Find the key.")
        >>> prompt.parse("<think>hm</think> <action> Go north </action>", ["go north"])
        ParsedAction(action='go north', format_valid=True, valid=True)
        >>> prompt.parse("I say <action>go north</action>", ["go north"])
        ParsedAction(action='go north', format_valid=False, valid=False)
    """

    task: str = ""
    """Role and task, the same in every prompt. Not a template: braces are kept."""
    think: Literal["required", "optional", "forbidden"] = "optional"
    """Whether a `<think>` block must, may or must not come before the action block."""
    forbid_cjk: bool = False
    """Count a reply with Chinese characters (U+4E00 to U+9FFF) as badly formed."""
    fallback_last_chars: int = 0
    """Where no action block is found, send this many last characters of the reply instead of
    nothing. Such a turn is invalid."""
    first: str = ""
    """Template, `{observation}`: the observation of the reset, for worlds that tell the task
    there. Left out while the history shows it anyway."""
    history_intro: str = "You have already taken {turn} step(s). The most recent {count}:"
    """Template, `{turn}` (all turns taken) and `{count}` (those shown)."""
    history_item: str = "[Observation {index}: '{observation}', Action {index}: '{action}']"
    """Template, `{index}` (from 1), `{observation}` and `{action}`."""
    current: str = "You are now at step {step}. Current observation:\n{observation}"
    """Template, `{step}` (from 1), `{turn}` (from 0) and `{observation}`."""
    actions: str = "Admissible actions: {actions}"
    """Template, `{actions}` (joined by `action_separator`)."""
    action_separator: str = ", "
    instruction: str | None = None
    """How to answer; None writes the sentence that fits `think`."""
    separator: str = "\n"
    """Between the parts of a message."""
    demonstration_thought: str = ""
    """Text of the think block in demonstrations. Where thinking is optional and this is empty, a
    demonstration has no think block."""

    def __post_init__(self) -> None:
        if self.think not in _FORMS:
            known = ", ".join(_FORMS)
            raise ConfigError(f"think={self.think!r} is not one of {known}.")
        if self.fallback_last_chars < 0:
            raise ConfigError(f"fallback_last_chars={self.fallback_last_chars} is negative.")
        templates = {
            "history_intro": self.history_intro,
            "history_item": self.history_item,
            "first": self.first,
            "current": self.current,
            "actions": self.actions,
        }
        for name, template in templates.items():
            _check_template(name, template)

    def message(self, view: PromptView) -> str:
        """Return the whole prompt of one turn: task, history, observation, how to answer."""
        instruction = self._default_instruction() if self.instruction is None else self.instruction
        parts = [self.task, *self._past(view), *self._present(view), instruction]
        return self.separator.join(part for part in parts if part)

    def followup(self, view: PromptView) -> str:
        """Return the present observation and the admissible actions."""
        return self.separator.join(part for part in self._present(view) if part)

    def parse(self, reply: str, admissible_actions: Sequence[str] | None) -> ParsedAction:
        """Read the action out of a reply, in time linear in its length."""
        block, well_formed = _read_blocks(reply, _FORMS[self.think])
        format_valid = well_formed and not (self.forbid_cjk and _CJK.search(reply))
        if block is None:
            last = reply[-self.fallback_last_chars :].strip() if self.fallback_last_chars else ""
            return ParsedAction(action=last or None, format_valid=False, valid=False)
        if admissible_actions is None:
            return ParsedAction(action=block, format_valid=format_valid, valid=format_valid)
        spelled = {action.lower(): action for action in admissible_actions}.get(block.lower())
        return ParsedAction(
            action=block if spelled is None else spelled,
            format_valid=format_valid,
            valid=format_valid and spelled is not None,
        )

    def reply(self, action: str) -> str:
        """Return the reply of a demonstrator; `parse` reads the same action back."""
        wanted = self.think == "required" or (
            self.think == "optional" and self.demonstration_thought
        )
        thought = f"<think>{self.demonstration_thought}</think>" if wanted else ""
        return f"{thought}<action>{action}</action>"

    def _past(self, view: PromptView) -> list[str]:
        if view.turn == 0:
            return []
        count = len(view.history)
        parts = []
        if count < view.turn:
            parts.append(self.first.format(observation=view.first_observation))
        parts.append(self.history_intro.format(turn=view.turn, count=count))
        for index, (observation, action) in enumerate(view.history, start=view.turn - count + 1):
            parts.append(
                self.history_item.format(index=index, observation=observation, action=action)
            )
        return parts

    def _present(self, view: PromptView) -> list[str]:
        parts = [
            self.current.format(turn=view.turn, step=view.turn + 1, observation=view.observation)
        ]
        if view.admissible_actions is not None:
            listed = self.action_separator.join(view.admissible_actions)
            parts.append(self.actions.format(actions=listed))
        return parts

    def _default_instruction(self) -> str:
        answer = "one action inside <action> </action> tags and write nothing after them."
        return {
            "required": f"Reason inside <think> </think> tags first; then give {answer}",
            "optional": f"You may reason inside <think> </think> tags first; then give {answer}",
            "forbidden": f"Give {answer}",
        }[self.think]


def _read_blocks(reply: str, forms: tuple[tuple[str, ...], ...]) -> tuple[str | None, bool]:
    """Return the text of the action block (None without one) and whether the form is right.

    One pass over the tags; no backtracking. The block is the first closing action tag with the
    nearest opening one before it, so that of nested blocks the innermost counts.
    """
    tags = list(_TAG.finditer(reply))
    opened: re.Match[str] | None = None
    block: str | None = None
    for tag in tags:
        if tag.group().lower() == "<action>":
            opened = tag
        elif tag.group().lower() == "</action>" and opened is not None:
            block = reply[opened.end() : tag.start()].strip() or None
            break
    if block is None or tuple(tag.group() for tag in tags) not in forms:
        return block, False
    # Outside of the blocks: before the first tag, after each closing one.
    ends = [0] + [tag.end() for tag in tags[1::2]]
    starts = [tag.start() for tag in tags[0::2]] + [len(reply)]
    outside = (reply[end:start] for end, start in zip(ends, starts, strict=True))
    return block, not any(text.strip() for text in outside)


def _check_template(name: str, template: str) -> None:
    known = _PLACEHOLDERS[name]
    try:
        used = {field for _, field, _, _ in Formatter().parse(template) if field is not None}
    except ValueError as error:
        raise ConfigError(f"The text field {name}={template!r} is no template: {error}.") from error
    for field in used - known:
        raise ConfigError(
            f"The text field {name} has no placeholder {{{field}}}; it knows "
            f"{', '.join(sorted(known))}.{did_you_mean(field, known)}"
        )
