"""How a policy is told of a tool, calls it, and answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sampo.envs import ParsedAction, PromptFormat, PromptView
from sampo_envs.tools.reading import first_block, last_boxed


@dataclass(frozen=True, kw_only=True)
class ToolPrompt(PromptFormat):
    r"""Free text with either a fenced call in it or a final answer in `\boxed{}`.

    The reply is read up to the end of its first call. A box before the call, or without one, is the
    answer. A reply with neither is a *void* turn: it has no action at all. The form is right when
    nothing but white space follows a call, and no box stands before it; otherwise the action is
    taken all the same, yet counts as invalid.

    With `sampling.stop: ["```\n"]` the engine ends a reply behind its first call, so that the
    policy does not write the result itself.

    Example:
        >>> prompt = ToolPrompt()
        >>> prompt.parse("Let me see.\n```python\nprint(2**9)\n```\n", None).action
        '```python\nprint(2**9)\n```'
        >>> prompt.parse(r"So it is \boxed{512}.", None).action
        '\\boxed{512}'
    """

    task: str = (
        "Solve the problem step by step. You can write Python code in a block\n"
        "```python\n...\n```\n"
        "It is run, and you are shown what it prints. Write one block at a time and wait for its "
        "result. When you know the final answer, give it as \\boxed{answer}."
    )
    languages: tuple[str, ...] = ("python", "py")
    """Words that mark a fenced block as a call, the usual one first."""
    separator: str = "\n\n"
    """Between the parts of a message."""
    call_thought: str = ""
    """What a demonstrator writes before a call."""
    answer_thought: str = ""
    """What it writes before an answer."""

    def message(self, view: PromptView) -> str:
        """Return the task, the first observation (the question), and the turns that are shown."""
        parts = [self.task, view.first_observation]
        for index, (observation, action) in enumerate(view.history):
            if view.turn - len(view.history) + index > 0:  # the question is there already
                parts.append(observation)
            parts.append(action)
        if view.turn > 0:
            parts.append(view.observation)
        return self.separator.join(part for part in parts if part)

    def followup(self, view: PromptView) -> str:
        """Return the present observation: the result of the last call."""
        return view.observation

    def parse(self, reply: str, admissible_actions: Sequence[str] | None) -> ParsedAction:
        """Read the call or the answer out of a reply."""
        block = first_block(reply, self.languages)
        answer = last_boxed(reply if block is None else reply[: block.start])
        if answer is not None:
            return _parsed(f"\\boxed{{{answer}}}", well_formed=block is None)
        if block is None:
            return ParsedAction(action=None, format_valid=False, valid=False)
        nothing_after = not reply[block.end :].strip()
        return _parsed(self.call(block.content), well_formed=nothing_after)

    def reply(self, action: str) -> str:
        """Return the reply of a demonstrator; `parse` reads the same action back."""
        is_call = first_block(action, self.languages) is not None
        thought = self.call_thought if is_call else self.answer_thought
        return f"{thought}\n{action}" if thought else action

    def call(self, content: str) -> str:
        """Return the action that calls the tool."""
        return f"```{self.languages[0]}\n{content}\n```"


def _parsed(action: str, *, well_formed: bool) -> ParsedAction:
    return ParsedAction(action=action, format_valid=well_formed, valid=well_formed)
