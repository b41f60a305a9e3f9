"""How WebShop is talked to: the paper's template, and a compact form for nano policies.

Both take the task out of the first page, and show pages without what repeats on every one of them.
Over-long texts are cut by one rule, `cut`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sampo.envs import ParsedAction, PromptView, TagPrompt
from sampo.errors import ConfigError
from sampo_envs.webshop.pages import SEPARATOR


def cut(text: str, limit: int) -> str:
    """Return a text, what is over a limit taken out of its middle.

    Beginnings say where one is, and ends hold titles, prices and buttons.

    Args:
        text: Any text.
        limit: Most characters of it that are kept.

    Example:
        >>> cut("abcdefghij", 4), cut("abcd", 4)
        ('ab ... (6 characters left out) ... ij', 'abcd')
    """
    left_out = len(text) - limit
    if left_out <= 0:
        return text
    tail = limit // 2
    end = text[len(text) - tail :]
    return f"{text[: limit - tail]} ... ({left_out} characters left out) ... {end}"


@dataclass(frozen=True, kw_only=True)
class WebShopPrompt(TagPrompt):
    """The paper's template: role, task, last turns, page and actions; thoughts are required.

    As in the paper's code, a page is shown without the instruction and with each text in quotes,
    and a reply is valid when it has the demanded form: the list of actions is not checked.

    Where the paper's code drops the history of prompts over 13,000 characters, every page and the
    list of actions are cut to a limit of their own here. The defaults stay below that number with
    two turns of history: three pages and the actions of 3,000 each.

    References:
        ARLArena, https://arxiv.org/abs/2602.21534; the wording is that of verl-agent's WebShop
        template, https://github.com/langfengQ/verl-agent (Apache-2.0).
    """

    task: str = (
        "You are an expert autonomous agent operating in the WebShop e-commerce environment."
    )
    goal: str = "Your task is to: {task}."
    """Template, `{task}`: what to buy."""
    think: Literal["required", "optional", "forbidden"] = "required"
    forbid_cjk: bool = True
    fallback_last_chars: int = 30
    history_intro: str = (
        "Prior to this step, you have already taken {turn} step(s). Below are the most recent "
        "{count} observations and the corresponding actions you took:"
    )
    opening: str = "Your current observation is: {observation}."
    """Template that stands for `current` in the first turn."""
    current: str = "You are now at step {step} and your current observation is: {observation}."
    actions: str = "Your admissible actions of the current situation are:\n[\n{actions}\n]."
    action_item: str = "'{action}',"
    """Template, `{action}`: one of the admissible actions."""
    action_separator: str = "\n"
    instruction: str | None = (
        "\nNow it's your turn to take one action for the current step.\nYou should first reason "
        "step-by-step about the current situation, then think carefully which admissible action "
        "best advances the shopping goal. This reasoning process MUST be enclosed within <think> "
        "</think> tags.\nOnce you've finished your reasoning, you should choose an admissible "
        "action for current step and present it within <action> </action> tags."
    )
    part: str = "'{part}'"
    """Template, `{part}`: one text of a page."""
    part_separator: str = SEPARATOR
    page_chars: int = 3000
    """Most characters of a page, see `cut`."""
    actions_chars: int = 3000
    """Most characters of the list of actions, see `cut`."""
    lower_case: bool = False
    """Write task and pages in lower case, in which actions name what is clicked."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("page_chars", "actions_chars"):
            if getattr(self, name) < 1:
                raise ConfigError(f"WebShop: {name} is {getattr(self, name)}; it must be positive.")

    def message(self, view: PromptView) -> str:
        """Return the whole prompt of one turn."""
        task = self._task(view)
        lines = (self.task, self.goal.replace("{task}", self._written(task)))
        present = self.opening if view.turn == 0 else self.current
        words = replace(self, task="\n".join(line for line in lines if line), current=present)
        return super(WebShopPrompt, words).message(self._shown(view, task))

    def followup(self, view: PromptView) -> str:
        """Return the present page and the admissible actions."""
        return super().followup(self._shown(view, self._task(view)))

    def parse(self, reply: str, admissible_actions: Sequence[str] | None) -> ParsedAction:
        """Read the action out of a reply; it is valid when its form is."""
        return super().parse(reply, None)

    def _task(self, view: PromptView) -> str:
        """Return the instruction, which follows the word for it on the first page."""
        parts = view.first_observation.split(SEPARATOR)
        return parts[2] if len(parts) > 2 else view.first_observation

    def _written(self, text: str) -> str:
        return text.lower() if self.lower_case else text

    def _shown(self, view: PromptView, task: str) -> PromptView:
        """Return the view with its pages and actions as they are written in the prompt."""
        actions = view.admissible_actions
        if actions is not None:
            listed = self.action_separator.join(
                self.action_item.replace("{action}", action) for action in actions
            )
            actions = (cut(listed, self.actions_chars),)
        return replace(
            view,
            observation=self._page(view.observation, task),
            first_observation=self._page(view.first_observation, task),
            history=tuple((self._page(page, task), action) for page, action in view.history),
            admissible_actions=actions,
        )

    def _page(self, observation: str, task: str) -> str:
        parts = observation.split(SEPARATOR)
        if task in parts:
            parts = parts[parts.index(task) + 1 :]
        written = self.part_separator.join(self.part.replace("{part}", part) for part in parts)
        return cut(self._written(written), self.page_chars)


@dataclass(frozen=True, kw_only=True)
class CompactPrompt(WebShopPrompt):
    """The task, the page and nothing else; the reply is `<action>click[buy now]</action>`.

    For policies that are cloned before they are trained, and so need no rules. Texts stand in lines
    of their own and in lower case, so that copying one into an action copies its tokens.
    """

    task: str = ""
    goal: str = "{task}"
    think: Literal["required", "optional", "forbidden"] = "forbidden"
    history_intro: str = ""
    history_item: str = "{action}"
    opening: str = "{observation}"
    current: str = "{observation}"
    actions: str = ""
    instruction: str | None = ""
    part: str = "{part}"
    part_separator: str = "\n"
    page_chars: int = 600
    lower_case: bool = True
