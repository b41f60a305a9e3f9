"""What is wrong with a plain value of a setting, out of the parser's words about its type."""

from __future__ import annotations

import re

from sampo.errors import did_you_mean

_LITERAL = re.compile(r"Literal\[(.*?)\]\. Got value: (.*)")
_TYPE = re.compile(r"Expected an? (?:<class '([\w.]+)'>|(\S+))\. Got value: (.*)")
_UNION = re.compile(
    r"Union subtypes Subtypes: \[(.*)\] Errors: (.*) Given value type: .*? value: (.*)"
)
_ON_TYPES = ("Expected a", "Not a valid subclass", "a class path", "a dict with")
"""How reasons begin that only say that a value is of another type."""


def explain_plain_value(text: str) -> str:
    """Return what is wrong with a value that is no object of a class."""
    if match := _LITERAL.search(text):
        choices = [choice.strip().strip("'\"") for choice in match[1].split(",")]
        return f"{match[2]!r} is none of {', '.join(choices)}.{did_you_mean(match[2], choices)}"
    if match := _TYPE.search(text):
        given = "null" if match[3] == "None" else repr(match[3])
        return f"expected {match[1] or match[2]}, got {given}."
    return text


def explain_union(text: str) -> str | None:
    """Return what is wrong with a setting that may be null; None: the text is of another kind."""
    if not (match := _UNION.search(" ".join(text.split()))):
        return None
    reasons = [reason.strip(" -.") for reason in match[2].split(" - ")]
    given = match[3].removeprefix("Namespace")
    if said := [reason for reason in reasons if not reason.startswith(_ON_TYPES)]:
        words = f"{'; '.join(said)}."
        return words if "class_path=" in given else f"{given} does not fit: {words}"
    literals = re.findall(r"Literal\[(.*?)\]", match[1])
    choices = [choice.strip(" '\"") for part in literals for choice in part.split(",")]
    kinds = [kind.rsplit(".", 1)[-1] for kind in re.findall(r"<class '([\w.]+)'>", match[1])]
    expected = [*choices, *kinds] or [match[1]]
    names = ["null" if name == "NoneType" else name for name in dict.fromkeys(expected)]
    if not choices:
        return f"expected {' or '.join(names)}, got {given!r}."
    return f"{given!r} is none of {', '.join(names)}.{did_you_mean(given, choices)}"
