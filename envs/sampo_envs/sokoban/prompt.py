"""How Sokoban is talked to: the paper-like full text, and a compact form for nano policies.

Both are `TagPrompt` with other defaults, so every text of theirs can be changed in the config.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sampo.envs import TagPrompt
from sampo_envs.sokoban.render import LEGENDS

RULES = (
    "You are solving a Sokoban puzzle: push every box onto a target.\n"
    "You move one cell at a time. Walking into a box pushes it one cell further if the cell "
    "behind it is free. You cannot walk through walls, push two boxes at once, or pull a box; a "
    "move that is blocked does nothing. Every step costs 0.1, so take a short way, and do not push "
    "a box into a corner that is no target."
)


@dataclass(frozen=True, kw_only=True)
class SokobanPrompt(TagPrompt):
    """Rules, legend, history, observation and actions; thoughts are required, as in the paper.

    The legend is that of the rendering `grid`; for another rendering set `task` to `RULES` and its
    entry in `LEGENDS`.
    """

    task: str = f"{RULES}\n{LEGENDS['grid']}"
    think: Literal["required", "optional", "forbidden"] = "required"
    forbid_cjk: bool = True


@dataclass(frozen=True, kw_only=True)
class CompactPrompt(TagPrompt):
    """The observation and nothing else; the reply is `<action>up</action>` and nothing else.

    For policies that are cloned before they are trained, and so need no rules. In a window with
    history, each shown turn is a line with its observation and action.

    Example:
        >>> CompactPrompt().reply("up")
        '<action>up</action>'
    """

    think: Literal["required", "optional", "forbidden"] = "forbidden"
    history_intro: str = ""
    history_item: str = "{observation} {action}"
    current: str = "{observation}"
    actions: str = ""
    instruction: str | None = ""
