"""A healthy patient on which one thing at a time is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from sampo.doctor.inputs import DoctorInputs
from sampo.doctor.loading import PolicyLoads
from tiny import save_tiny_policy
from training import make_data, make_module

MakeInputs = Callable[..., DoctorInputs]


@pytest.fixture(scope="session")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder of a tiny policy."""
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


@pytest.fixture
def make_inputs(policy: str, tmp_path: Path) -> Iterator[MakeInputs]:
    """Return a maker of inputs: `load` loads the policy, further arguments are the data's."""
    made: list[DoctorInputs] = []

    def make(*, load: bool = True, source: str = policy, **settings: Any) -> DoctorInputs:
        inputs = DoctorInputs(
            module=make_module(source),
            data=make_data(source, **settings),
            runs=tmp_path / "runs" / "healthy",
            device=torch.device("cpu"),
        )
        made.append(inputs)
        if load:
            _ = inputs.data.renderer
            PolicyLoads()(inputs)
        return inputs

    yield make
    for inputs in made:
        inputs.data.teardown("doctor")
