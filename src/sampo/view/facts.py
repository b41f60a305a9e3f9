"""What a run was, in a few words: the four dials and the size of an update, from its config."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

_HIDDEN = (None, False, [], {}, "")


def read_facts(config: Path | None) -> tuple[list[tuple[str, str]], str, list[str]]:
    """Return (name and value of each fact, the config as text, what was wrong with it)."""
    if config is None:
        return [], "", ["There is no config.yaml, so the page says nothing of the settings."]
    text = config.read_text("utf-8", "replace")
    try:
        settings = yaml.safe_load(text)
    except yaml.YAMLError:
        return [], text, [f"{config.name} is not complete YAML; it is shown as it is."]
    if not isinstance(settings, Mapping):
        return [], text, [f"{config.name} holds no settings; it is shown as it is."]
    return [(name, value) for name, value in _facts(settings) if value], text, []


def _facts(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    groups, size = _at(settings, "data.groups_per_update"), _at(settings, "data.group_size")
    return [
        ("environment", describe(_at(settings, "data.env"))),
        ("policy", str(_at(settings, "model.policy") or "")),
        ("ratio", describe(_at(settings, "model.loss.ratio"))),
        ("surrogate", describe(_at(settings, "model.loss.surrogate"))),
        ("aggregation", describe(_at(settings, "model.loss.aggregation"))),
        ("sequence mask", describe(_at(settings, "model.loss.masking"))),
        ("KL coefficient", describe(_at(settings, "model.loss.kl_coef"))),
        ("advantage", describe(_at(settings, "data.advantage"))),
        ("batch advantage", describe(_at(settings, "model.batch_advantage"))),
        ("filter", describe(_at(settings, "data.group_filter"))),
        ("context", describe(_at(settings, "data.context"))),
        ("update", f"{groups} groups × {size} episodes" if groups and size else ""),
        ("learning rate", describe(_at(settings, "model.learning_rate"))),
        ("seed", describe(_at(settings, "seed_everything"))),
    ]


def describe(value: Any) -> str:
    """Return a setting in a few words.

    Example:
        >>> describe({"class_path": "sampo.losses.Clip", "init_args": {"low": 0.1, "dual": None}})
        'Clip (low 0.1)'
    """
    if value is None:
        return ""
    if not isinstance(value, Mapping):
        return str(value)
    arguments = value.get("init_args") if "class_path" in value else value
    words = [
        f"{name} {describe(entry)}"
        for name, entry in (arguments or {}).items()
        if entry not in _HIDDEN
    ]
    if "class_path" not in value:
        return ", ".join(words)
    name = str(value["class_path"]).rsplit(".", 1)[-1]
    return f"{name} ({', '.join(words)})" if words else name


def _at(settings: Any, path: str) -> Any:
    """Return the value at a dotted path, or None."""
    for name in path.split("."):
        settings = settings.get(name) if isinstance(settings, Mapping) else None
    return settings
