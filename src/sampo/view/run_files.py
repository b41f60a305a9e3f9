"""Finds a run and its files. What is in them is the business of the readers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sampo.errors import ConfigError, MissingDataError, did_you_mean

Kind = Literal["update", "validation"]
_EPISODES = re.compile(r"(update|validation)_(\d+)(\.partial)?\.jsonl")
_VERSION = re.compile(r"version_(\d+)")


@dataclass(frozen=True, kw_only=True)
class EpisodeFile:
    """A file of episodes and its place on the axis of the curves."""

    kind: Kind
    step: int
    """Updates done when its numbers were logged: an update's own is counted, as in the curves and
    in the progress lines, so `update_000012.jsonl` is step 13 and `validation_000012.jsonl` 12."""
    path: Path
    partial: bool = False
    """Whether its rollout is not over, or broke off: what had ended by then."""


@dataclass(frozen=True, kw_only=True)
class RunFiles:
    """What a run folder holds; absent files are None or an empty list."""

    folder: Path
    note: str | None
    """How the folder was chosen, where it is not the one that was named."""
    episodes: tuple[EpisodeFile, ...]
    """By step, an evaluation before the update of the same step."""
    has_events: bool
    config: Path | None
    alarms: Path | None

    @property
    def name(self) -> str:
        """The last two parts of the folder, e.g. `quickstart/version_0`."""
        return "/".join(self.folder.resolve().parts[-2:])


def find_run(path: str | Path) -> RunFiles:
    """Return the files of the run at `path`, or of the newest run of that name.

    Raises:
        MissingDataError: there is no such folder, or nothing of a run in it.
        ConfigError: it is a file.
    """
    folder = Path(path)
    if folder.is_file():
        raise ConfigError(f"{folder} is a file; name the folder of a run.")
    if not folder.is_dir():
        there = [p.name for p in folder.parent.iterdir()] if folder.parent.is_dir() else []
        raise MissingDataError(
            f"There is no folder {folder.absolute()}.{did_you_mean(folder.name, there)}"
        )
    if _holds_run(folder):
        return _files(folder, None)
    subfolders = sorted(child for child in folder.iterdir() if child.is_dir())
    versions = [(int(m[1]), p) for p in subfolders if (m := _VERSION.fullmatch(p.name))]
    for _, version in sorted(versions, reverse=True):
        if _holds_run(version):
            return _files(version, f"{version.name} is the newest of the runs in {folder}.")
    named = [child.name for child in subfolders if any(map(_holds_run, child.glob("version_*")))]
    if named:
        raise MissingDataError(f"{folder} is no run; name one that it holds: {', '.join(named)}.")
    raise MissingDataError(
        f"{folder.absolute()} holds nothing of a run: no curves (events.out.tfevents*), no "
        "episodes (episodes/*.jsonl), no alarms.jsonl. Is it the folder that `sampo fit` named?"
    )


def _holds_run(folder: Path) -> bool:
    """Return whether there is anything to show."""
    patterns = ("events.out.tfevents*", "episodes/*.jsonl", "alarms.jsonl")
    return any(any(folder.glob(pattern)) for pattern in patterns)


def _files(folder: Path, note: str | None) -> RunFiles:
    config, alarms = folder / "config.yaml", folder / "alarms.jsonl"
    return RunFiles(
        folder=folder,
        note=note,
        episodes=tuple(_episode_files(folder / "episodes")),
        has_events=any(folder.glob("events.out.tfevents*")),
        config=config if config.is_file() else None,
        alarms=alarms if alarms.is_file() else None,
    )


def _episode_files(folder: Path) -> list[EpisodeFile]:
    kinds: Mapping[str, Kind] = {"update": "update", "validation": "validation"}
    files: dict[tuple[int, bool], EpisodeFile] = {}
    for path in sorted(folder.glob("*.jsonl"), reverse=True):  # a partial file before its successor
        if m := _EPISODES.fullmatch(path.name):
            step, kind = int(m[2]) + (m[1] == "update"), kinds[m[1]]
            file = EpisodeFile(kind=kind, step=step, path=path, partial=m[3] is not None)
            files[step, kind != "validation"] = file
    return [files[place] for place in sorted(files)]
