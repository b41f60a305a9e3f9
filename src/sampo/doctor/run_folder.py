"""Can the run's files be written, and do they fit on the disk?"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from sampo.doctor.check import Check, CheckResult
from sampo.doctor.inputs import DoctorInputs
from sampo.doctor.loading import PolicyLoads

_FILES = 3
"""Checkpoints on the disk at once: last, best, and the one that is being written."""
_COPIES = 3
"""What a checkpoint holds of each parameter: itself and AdamW's two moments."""


@dataclass(frozen=True, kw_only=True)
class RunFolder(Check):
    """The run folder is writable and its disk has room for the checkpoints."""

    name: ClassVar[str] = "run folder"
    fix: ClassVar[str] = "Set --trainer.logger.save_dir to a folder that you may write to."
    needs: ClassVar[tuple[type[Check], ...]] = (PolicyLoads,)

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Write a file where the run will, and compare free with needed bytes."""
        with TemporaryDirectory(prefix=".sampo-doctor-", dir=inputs.scratch) as folder:
            (Path(folder) / "file").write_text("written")
            free = shutil.disk_usage(folder).free
        size = sum(p.numel() * p.element_size() for p in inputs.policy.parameters())
        needed = size * (_FILES * _COPIES + 1)  # and the policy as a Hugging Face folder
        detail = f"{inputs.runs} can be written; needs {_amount(needed)}, {_amount(free)} are free"
        if needed > free:
            return self.failed(
                detail,
                f"Free {_amount(needed - free)}, or set --trainer.logger.save_dir elsewhere.",
            )
        return self.ok(detail)


def _amount(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
