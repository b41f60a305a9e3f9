"""What a policy's name means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sampo.errors import PolicyError
from sampo.models import sources
from sampo.models.sources import list_policies, resolve_policy


@pytest.fixture(autouse=True)
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "policies"
    (folder / "nano-sokoban").mkdir(parents=True)
    (folder / "nano-sokoban" / "config.json").write_text(json.dumps({}))
    monkeypatch.setattr(sources, "_SHIPPED", folder)
    return folder


def test_a_shipped_name(shipped: Path):
    assert resolve_policy("nano-sokoban") == str(shipped / "nano-sokoban")


def test_a_hub_id_is_left_alone():
    assert resolve_policy("Qwen/Qwen3-0.6B") == "Qwen/Qwen3-0.6B"


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(PolicyError, match="Did you mean 'nano-sokoban'"):
        resolve_policy("nano-socoban")


def test_a_missing_folder_is_no_hub_id():
    with pytest.raises(PolicyError, match="no folder"):
        resolve_policy("./runs/last")


def test_a_folder_without_a_model(tmp_path: Path):
    with pytest.raises(PolicyError, match=r"no config\.json"):
        resolve_policy(str(tmp_path))


def test_shipped_names_are_listed():
    assert list_policies() == ["nano-sokoban"]
