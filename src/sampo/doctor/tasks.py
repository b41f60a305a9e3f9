"""Are there tasks, is no task in two splits, and are they the same whenever they are listed?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import ClassVar

from sampo.doctor.check import Check, CheckResult
from sampo.doctor.inputs import DoctorInputs

_SPLITS = ("train", "val", "test")


@dataclass(frozen=True, kw_only=True)
class Tasks(Check):
    """The splits are non-empty, disjoint and stable; data files of the environment are there.

    An environment may say which files it reads with a method `data_files() -> Iterable[str]`; each
    must be there and its hash is printed.
    """

    name: ClassVar[str] = "tasks"
    fix: ClassVar[str] = "Mend tasks(split) of the environment, or the paths that its data is at."
    most: int = 1_000_000
    """Tasks of a split that are looked at; lazy sequences may be endless."""

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """List every split twice."""
        parts: list[str] = []
        owner: dict[str, str] = {}
        for split in _SPLITS:
            tasks = self._listed(inputs.env.tasks(split))
            if not tasks:
                return self.failed(f"tasks({split!r}) is empty")
            digest = _digest(tasks)
            if _digest(self._listed(inputs.env.tasks(split))) != digest:
                return self.failed(f"tasks({split!r}) lists other tasks when it is called again")
            if len(set(tasks)) < len(tasks):
                return self.failed(f"tasks({split!r}) names a task twice")
            for task in tasks:
                if task in owner:
                    return self.failed(f"the task {task!r} is in {owner[task]} and in {split}")
            owner |= dict.fromkeys(tasks, split)
            parts.append(f"{split} {len(tasks)} ({digest[:8]})")
        files = getattr(inputs.env, "data_files", None)
        return self.ok(", ".join(parts + ([] if files is None else _hashed(files()))))

    def _listed(self, tasks: Sequence[str]) -> list[str]:
        return list(islice(iter(tasks), self.most))


def _digest(tasks: Iterable[str]) -> str:
    """Return the sha256 of a list of task ids."""
    return hashlib.sha256("\n".join(tasks).encode()).hexdigest()


def _hashed(files: Iterable[str]) -> list[str]:
    """Return each file's name and hash.

    Raises:
        FileNotFoundError: One is not there.
    """
    described: list[str] = []
    for path in map(Path, files):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        described.append(f"{path.name} ({digest[:8]})")
    return described
