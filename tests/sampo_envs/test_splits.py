"""Numbered tasks and who owns what."""

import pytest

from sampo.errors import ConfigError
from sampo_envs.splits import SEEDS, TaskNames, known_split, owner


def test_owners_are_written_in_stone_and_shared_out_as_promised() -> None:
    # A change here would move problems between splits. The first bytes of the SHA-256 of "a", "b"
    # and "d" are 202, 62 and 24, so the buckets of eight are 2, 6 and 0.
    assert [owner(text) for text in ("a", "b", "d")] == ["train", "val", "train"]
    owners = [owner(str(number)) for number in range(8000)]
    assert [owners.count(split) / 1000 for split in SEEDS] == pytest.approx([6, 1, 1], abs=0.2)


def test_names_are_a_lazy_sequence() -> None:
    names = TaskNames(range(65536, 65540), "val")
    assert list(names) == [names[i] for i in range(4)] and list(names[1:3]) == list(names)[1:3]
    assert "val/65539" in names
    for other in ("val/65540", "val/065539", "train/65539", "val/", 65539):
        assert other not in names


def test_unknown_splits_are_refused() -> None:
    assert known_split("test", "Env") == "test"
    with pytest.raises(ConfigError, match=r"Env: there is no split 'tset'.*Did you mean 'test'"):
        known_split("tset", "Env")
