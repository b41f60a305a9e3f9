"""A prompt format under which every reply is an action. Imported by workers, so without torch."""

from __future__ import annotations

from sampo.envs import ParsedAction, PromptFormat, PromptView


class AnythingGoes(PromptFormat):
    """Reads a direction out of any reply: the parity of its first letter's code."""

    def message(self, view: PromptView) -> str:
        return view.observation

    def followup(self, view: PromptView) -> str:
        return view.observation

    def parse(self, reply: str, admissible_actions: object) -> ParsedAction:
        action = "right" if reply and ord(reply[0]) % 2 else "left"
        return ParsedAction(action=action, format_valid=True, valid=True)

    def reply(self, action: str) -> str:
        return "a" if action == "right" else "b"
