"""Versions are named; releases that steal credentials are refused."""

import importlib.metadata

import pytest

from doctor.conftest import MakeInputs
from sampo.doctor import versions
from sampo.doctor.check import Status
from sampo.doctor.versions import Versions


def installed(monkeypatch: pytest.MonkeyPatch, **numbers: str) -> None:
    def version(name: str) -> str:
        return numbers.get(name) or importlib.metadata.version(name)

    monkeypatch.setattr(versions, "version", version)


def test_names_what_is_installed(make_inputs: MakeInputs, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, vllm="0.25.1")
    result = Versions()(make_inputs(load=False))
    assert result.status is Status.OK
    for name in ("python", "torch", "transformers", "lightning", "jsonargparse", "vllm 0.25.1"):
        assert name in result.detail


@pytest.mark.parametrize("name", ["lightning", "pytorch-lightning"])
@pytest.mark.parametrize("number", ["2.6.2", "2.6.3"])
def test_refuses_compromised_releases(
    make_inputs: MakeInputs, monkeypatch: pytest.MonkeyPatch, name: str, number: str
) -> None:
    installed(monkeypatch, **{name: number})
    result = Versions()(make_inputs(load=False))
    assert result.status is Status.FAILED
    assert f"{name} {number}" in result.detail and "credentials" in result.fix


def test_a_package_that_is_missing(
    make_inputs: MakeInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        if name == "transformers":
            raise importlib.metadata.PackageNotFoundError(name)
        return importlib.metadata.version(name)

    monkeypatch.setattr(versions, "version", version)
    with pytest.raises(importlib.metadata.PackageNotFoundError, match="transformers"):
        Versions()(make_inputs(load=False))
