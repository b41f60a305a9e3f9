"""Where the four dials of a run stand, read from its resolved config."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from sampo.arena.commands import versions

DIALS = ("aggregation", "ratio and clip", "advantage", "filter")


def dials_of(folder: Path) -> dict[str, str] | None:
    """Return the settings of a run by dial; None where it has no config.

    Args:
        folder: the run's own.
    """
    files = [file for path in versions(folder) if (file := path / "config.yaml").is_file()]
    if not files:
        return None
    config = yaml.safe_load(files[-1].read_text(encoding="utf-8"))
    loss, data = config["model"]["loss"] or {}, config["data"]
    ratio = f"{_get(loss, 'ratio', 'level')} {_class(loss.get('surrogate'))}"
    if numbers := _numbers(loss.get("surrogate")):
        ratio += f" ({numbers})"
    if loss.get("masking"):
        ratio += f", mask {_get(loss, 'masking', 'threshold')}"
    advantage = _class(data.get("advantage"))
    if config["model"].get("batch_advantage"):
        advantage += f" + {_class(config['model']['batch_advantage'])}"
    kept = _class(data.get("group_filter"))
    if kept != "KeepAll" and data.get("max_filter_rounds"):
        kept += f", {data['max_filter_rounds']} rounds"
    return {
        "aggregation": str(_get(loss, "aggregation", "kind")),
        "ratio and clip": ratio,
        "advantage": advantage,
        "filter": kept,
    }


def _get(values: Any, *path: str) -> Any:
    for key in path:
        values = (values or {}).get(key)
    return values


def _class(part: Any) -> str:
    """Return the bare name of a class in a config."""
    if not isinstance(part, dict):
        return "none" if part is None else str(part)
    return str(part.get("class_path", "")).rpartition(".")[2]


def _numbers(part: Any) -> str:
    """Return the numbers among the settings of a class in a config."""
    settings = _get(part, "init_args") if isinstance(part, dict) else None
    found = {k: v for k, v in (settings or {}).items() if isinstance(v, int | float)}
    return ", ".join(f"{name} {value}" for name, value in found.items())
