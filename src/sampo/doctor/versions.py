"""Is the software the one that sampo was written for?"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import ClassVar

import torch

from sampo.doctor.check import Check, CheckResult
from sampo.doctor.inputs import DoctorInputs

_PACKAGES = ("torch", "transformers", "lightning", "jsonargparse")
_OPTIONAL = ("vllm",)
_COMPROMISED = dict.fromkeys(("lightning", "pytorch-lightning"), ("2.6.2", "2.6.3"))
"""Releases of an attacker, which steal credentials when imported: GHSA-w37p-236h-pfx3."""


@dataclass(frozen=True, kw_only=True)
class Versions(Check):
    """Names the versions and the accelerators; refuses releases known to be malicious."""

    name: ClassVar[str] = "versions"
    fix: ClassVar[str] = "Install sampo again with its dependencies."

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Look the packages up."""
        found = {name: version(name) for name in _PACKAGES}
        found |= {name: number for name in _OPTIONAL if (number := _if_installed(name))}
        for name, refused in _COMPROMISED.items():
            if (number := _if_installed(name)) in refused:
                return self.failed(
                    f"{name} {number} is a compromised release (GHSA-w37p-236h-pfx3)",
                    f"Take this machine's credentials for stolen and replace them, then: "
                    f"pip install '{name}>=2.6.6,<2.7'",
                )
        listed = ", ".join(f"{name} {number}" for name, number in found.items())
        return self.ok(f"python {platform.python_version()}, {listed}; {_accelerators()}")


def _if_installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _accelerators() -> str:
    if torch.cuda.is_available():
        names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
        return f"accelerators: {', '.join(names)}"
    return f"no accelerator, {torch.get_num_threads()} CPU thread(s)"
