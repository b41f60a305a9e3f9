"""Shipped configs are found by name, files by path, and typos are answered."""

from pathlib import Path

import pytest

from sampo import resources
from sampo.errors import ConfigError
from sampo.resources import config_root, find_config, list_configs


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shipped folder with quickstart, envs/sokoban and algorithms/sampo."""
    root = tmp_path / "shipped"
    for name in ("quickstart", "envs/sokoban", "algorithms/sampo"):
        file = root / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}\n")
    (root / "README.md").write_text("not a config\n")
    monkeypatch.setattr(resources, "_CANDIDATES", (tmp_path / "absent", root))
    monkeypatch.chdir(tmp_path)
    return root


def test_lists_names_without_suffix_and_only_yaml(shipped: Path) -> None:
    assert list_configs() == ["algorithms/sampo", "envs/sokoban", "quickstart"]


@pytest.mark.parametrize("name", ["quickstart", "quickstart.yaml"])
def test_finds_by_name_with_or_without_suffix(shipped: Path, name: str) -> None:
    assert find_config(name) == shipped / "quickstart.yaml"


def test_finds_nested_names(shipped: Path) -> None:
    assert find_config("envs/sokoban") == shipped / "envs" / "sokoban.yaml"


def test_an_existing_file_wins_over_a_shipped_name(shipped: Path, tmp_path: Path) -> None:
    mine = tmp_path / "quickstart.yaml"
    mine.write_text("mine: 1\n")
    assert find_config("quickstart.yaml").read_text() == "mine: 1\n"
    # The bare name is no file here, so it still means the shipped config.
    assert find_config("quickstart") == shipped / "quickstart.yaml"


def test_a_folder_of_the_same_name_does_not_hide_a_config(shipped: Path, tmp_path: Path) -> None:
    (tmp_path / "quickstart").mkdir()
    assert find_config("quickstart") == shipped / "quickstart.yaml"


def test_names_cannot_leave_the_shipped_folder(shipped: Path, tmp_path: Path) -> None:
    (shipped.parent / "secret.yaml").write_text("{}\n")
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(ConfigError):
        find_config("envs/../../secret")


def test_a_typo_is_answered_with_the_nearest_name_and_both_places(
    shipped: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        find_config("sokobann")
    message = str(caught.value)
    assert "Did you mean 'envs/sokoban'?" in message
    assert str(shipped) in message
    assert str(tmp_path / "sokobann") in message


def test_a_name_like_no_other_lists_what_there_is(shipped: Path) -> None:
    with pytest.raises(ConfigError, match="Shipped configs: algorithms/sampo, envs/sokoban, qui"):
        find_config("zzz")


def test_a_damaged_installation_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_CANDIDATES", (tmp_path / "absent",))
    with pytest.raises(ConfigError, match="Install sampo again"):
        config_root()


def test_the_real_configs_are_found() -> None:
    assert "quickstart" in list_configs()
    assert find_config("quickstart").is_file()
