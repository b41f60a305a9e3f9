"""One command, two grammars: `put X in/on Y` before ALFWorld 0.4, `move X to Y` since."""

from __future__ import annotations

import re
from collections.abc import Collection

_FORMS = (
    re.compile(r"put (?P<thing>.+) (?:in/on|in|on|into|onto) (?P<place>.+)"),
    re.compile(r"move (?P<thing>.+) to (?P<place>.+)"),
)
_WORDINGS = ("move {thing} to {place}", "put {thing} in/on {place}")


def in_grammar(command: str, verb: str) -> str:
    """Return a command with the verb `move` or `put` for putting something down.

    Example:
        >>> in_grammar("move mug 1 to desk 2", "put"), in_grammar("look", "put")
        ('put mug 1 in/on desk 2', 'look')
    """
    wording = next(one for one in _WORDINGS if one.startswith(verb))
    matches = (form.fullmatch(command) for form in _FORMS)
    return next((wording.format(**one.groupdict()) for one in matches if one), command)


def understood(action: str, commands: Collection[str]) -> str:
    """Return the command that an action means, in the words of the game.

    Capitals and white space do not matter. What no command says stays as it is.

    Example:
        >>> understood("Put  mug 1 in/on desk 2", ["look", "move mug 1 to desk 2"])
        'move mug 1 to desk 2'
        >>> understood("move mug 1 to desk 2", ["put mug 1 in/on desk 2"])
        'put mug 1 in/on desk 2'
    """
    text = " ".join(action.lower().split())
    if text in commands:
        return text
    for form in _FORMS:
        if found := form.fullmatch(text):
            for wording in _WORDINGS:
                if (other := wording.format(**found.groupdict())) in commands:
                    return other
    return action
