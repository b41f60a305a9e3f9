"""`torch.compile` for a policy's transformer layers, and not for what samples with them.

Layers are compiled one by one: they share their code, so that one graph serves them all, for any
number of rows and tokens. An engine that samples with the live policy feeds it a token at a time
with a growing cache, which would be compiled again and again; it runs the layers as they are.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from sampo.errors import MissingDependencyError
from sampo.models.policy import Policy
from sampo.models.sharding import compute_device, transformer_layers


def compile_layers(policy: Policy) -> None:
    """Compile the layers with their first pass, which then takes a minute or more.

    A copy of the policy is not compiled. Call it when the policy is on its device, and sharded.

    Raises:
        MissingDependencyError: it is to run on a CPU, and there is no C++ compiler.
    """
    if compute_device(policy).type == "cpu" and not (
        shutil.which("g++") or shutil.which("clang++")
    ):
        raise MissingDependencyError(
            "model.compile needs a C++ compiler (g++ or clang++) on a CPU, and there is none on "
            "the PATH. Install one (Debian and Ubuntu: apt install g++), or leave it out."
        )
    policy.compiled = True
    for layer in transformer_layers(policy):
        layer.compile(dynamic=True)


@contextmanager
def as_written(policy: Policy) -> Iterator[None]:
    """Run the policy's code as it is, compiled or not."""
    if not policy.compiled:  # else torch's compiler would be imported, which takes seconds
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield
